{{ config(
    materialized='incremental', incremental_strategy='merge', unique_key='order_id',
    tblproperties={'key': 'order_id'}, clustered_by='order_id', buckets=4, on_schema_change='append_new_columns',
) }}
select order_id, day, city, amount, status {% if var('with_load', false) %}, load {% endif %}
from (select *, row_number() over (partition by order_id order by load desc) as age from {{ ref('received') }})
where age = 1 {% if is_incremental() %} and load >= {{ var('loads') }} {% endif %}
