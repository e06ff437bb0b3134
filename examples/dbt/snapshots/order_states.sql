{% snapshot order_states %}
{{ config(
    file_format='iceberg', tblproperties={'key': 'dbt_scd_id'}, unique_key='order_id',
    strategy='check', check_cols=['status', 'amount'], hard_deletes='invalidate',
) }}
select order_id, status, amount from {{ ref('orders') }}
{% endsnapshot %}
