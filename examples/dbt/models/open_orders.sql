{{ config(
    materialized='incremental', incremental_strategy='delete+insert', unique_key=['day', 'order_id'],
    tblproperties={'key': 'day, order_id'},
) }}
-- depends_on: {{ ref('received') }}
select day, order_id, amount, status = 'open' as is_open from {{ ref('orders') }}
{% if is_incremental() %} where order_id in (select order_id from {{ ref('received') }} where load >= {{ var('loads') }}) {% endif %}
