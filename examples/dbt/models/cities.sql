{{ config(materialized='table', tblproperties={'key': 'city'}) }}
select city, count(*) as orders from {{ ref('orders') }} group by city
