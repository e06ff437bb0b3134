{{ config(
    materialized='incremental', incremental_strategy='insert_overwrite',
    tblproperties={'key': 'day, city'}, partition_by='day', clustered_by='city', buckets=2,
) }}
select day, city, sum(amount) as amount from {{ ref('orders') }}
{% if is_incremental() %} where day >= (select max(day) from {{ this }}) {% endif %}
group by all
