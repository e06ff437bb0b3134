"""pandas-on-Spark over a keyed table. The test gives it a table's name, and SPARK_REMOTE."""

import sys

import pandas as pd
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def main(table: str) -> None:
    import pyspark.pandas as ps  # which pandas 3 is too new for: only where this program runs is there an older one

    spark = SparkSession.builder.getOrCreate()
    spark.sql(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, city STRING, n BIGINT) USING keylake")
    made = ps.DataFrame({"id": [1, 2, 3], "city": ["Oslo", "Lima", "Oslo"], "n": [1, 2, 3]})
    made.to_table(table, mode="append")

    read = ps.read_table(table, index_col="id")
    read["n"] = read["n"] * 10
    read[["n"]].to_table(table, mode="append", index_col="id")  # says nothing about the city
    again = ps.read_table(table, index_col="id").sort_index().to_pandas()
    expected = pd.DataFrame({"city": ["Oslo", "Lima", "Oslo"], "n": [10, 20, 30]}, index=pd.Index([1, 2, 3], name="id"))
    pd.testing.assert_frame_equal(again, expected)

    summed = ps.sql(f"SELECT city, sum(n) AS n FROM {table} GROUP BY city ORDER BY city").to_pandas()
    assert list(summed["n"]) == [20, 40], summed
    most = ps.read_table(table).groupby("city")["n"].max().sort_index().to_pandas()
    assert most.to_dict() == {"Lima": 20, "Oslo": 30}, most
    try:
        ps.DataFrame({"n": [1]}).to_table(table, mode="append")
    except PySparkException as error:
        print(error.getCondition(), error.getSqlState())


if __name__ == "__main__":
    main(sys.argv[1])
