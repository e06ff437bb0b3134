{# A model whose tblproperties name a key is a keyed table. dbt-spark knows a fixed list of formats, so its config says iceberg.
   It creates seeds without their tblproperties, so these are added to the format. #}
{% macro spark__file_format_clause() %}
  {%- if (config.get('tblproperties') or {}).get('key') -%}
    using keylake
    {%- if model.resource_type == 'seed' %} {{ tblproperties_clause() }} {%- endif -%}
  {%- elif config.get('file_format') is not none -%}
    using {{ config.get('file_format') }}
  {%- endif -%}
{% endmacro %}

{# Snapshots and insert_overwrite ask for the format of the table that is there. A keyed table is an Iceberg table.
   SHOW TABLE EXTENDED of a catalog of Iceberg has no views, so they are listed by themselves. #}
{% macro spark__list_relations_without_caching(relation) %}
  {% call statement('list_relations_without_caching', fetch_result=True) -%}
    show table extended in {{ relation.schema }} like '*'
  {% endcall %}
  {% set relations = [] %}
  {% for row in load_result('list_relations_without_caching').table %}
    {% do relations.append((row[0], row[1], row[2], row[3] | replace('Provider: keylake', 'Provider: iceberg'))) %}
  {% endfor %}
  {% call statement('list_views_without_caching', fetch_result=True) -%}
    show views in {{ relation.schema }}
  {% endcall %}
  {% for row in load_result('list_views_without_caching').table if not row[2] %}
    {% do relations.append((row[0], row[1], row[2], 'Type: VIEW')) %}
  {% endfor %}
  {% do return(relations) %}
{% endmacro %}

{# dbt-spark has no delete+insert: these two add it, with the names of dbt's own, which predicates use. #}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {% if raw_strategy == 'delete+insert' %}
    {% do return(raw_strategy) %}
  {% endif %}
  {% do return(dbt.dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format)) %}
{% endmacro %}

{% macro dbt_spark_get_incremental_sql(strategy, source, target, existing, unique_key, incremental_predicates) %}
  {% if strategy == 'delete+insert' %}
    {% if unique_key %}
      {% set conditions = [] %}
      {% for column in ([unique_key] if unique_key is string else unique_key) %}
        {% do conditions.append('DBT_INTERNAL_SOURCE.' ~ column ~ ' = DBT_INTERNAL_DEST.' ~ column) %}
      {% endfor %}
      {% set deleted = ['exists (select 1 from ' ~ source ~ ' as DBT_INTERNAL_SOURCE where ' ~ conditions | join(' and ') ~ ')'] %}
      {% for predicate in ([incremental_predicates] if incremental_predicates is string else incremental_predicates or []) %}
        {% do deleted.append('(' ~ predicate ~ ')') %}
      {% endfor %}
      {% do run_query('delete from ' ~ target ~ ' as DBT_INTERNAL_DEST where ' ~ deleted | join(' and ')) %}
    {% endif %}
    {% do return(get_insert_into_sql(source, target)) %}
  {% endif %}
  {% do return(dbt.dbt_spark_get_incremental_sql(strategy, source, target, existing, unique_key, incremental_predicates)) %}
{% endmacro %}
