"""Columns of every type of the source: a definition, values, and what a source gives of each as JSON."""

import base64
from dataclasses import dataclass

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)


def b64(value: bytes) -> str:
    return base64.b64encode(value).decode()


@dataclass(frozen=True)
class Typed:
    definition: str
    type: IcebergType
    values: tuple[tuple[str, object], ...]  # as SQL, and as JSON


POINT = bytes.fromhex("0101000000000000000000F03F0000000000000040")  # WKB of POINT(1 2)
NINES = "9" * 35 + "." + "9" * 30

TYPES = (
    Typed("TINYINT", IntegerType(), (("-128", -128), ("127", 127))),
    Typed("TINYINT UNSIGNED", IntegerType(), (("255", 255),)),
    Typed("BOOL", IntegerType(), (("TRUE", 1),)),
    Typed("SMALLINT", IntegerType(), (("-32768", -32768),)),
    Typed("SMALLINT UNSIGNED", IntegerType(), (("65535", 65535),)),
    Typed("MEDIUMINT", IntegerType(), (("-8388608", -8388608), ("8388607", 8388607))),
    Typed("MEDIUMINT UNSIGNED", IntegerType(), (("16777215", 16777215),)),
    Typed("INT", IntegerType(), (("-2147483648", -(2**31)),)),
    Typed("INT UNSIGNED ZEROFILL", LongType(), (("42", 42), ("4294967295", 2**32 - 1))),
    Typed("BIGINT", LongType(), (("-9223372036854775808", -(2**63)),)),
    Typed("BIGINT UNSIGNED", DecimalType(20, 0), (("18446744073709551615", "18446744073709551615"), ("0", "0"))),
    Typed("DECIMAL(9, 2)", DecimalType(9, 2), (("-1234567.89", "-1234567.89"), ("0.05", "0.05"), ("-0.05", "-0.05"))),
    Typed("DECIMAL(38, 10)", DecimalType(38, 10), (("1e27", "1000000000000000000000000000.0000000000"),)),
    Typed("DECIMAL(10)", DecimalType(10, 0), (("-7", "-7"),)),
    Typed("DECIMAL(65, 30)", StringType(), ((NINES, NINES), (f"-{NINES}", f"-{NINES}"))),
    Typed(
        "FLOAT",
        FloatType(),
        (("1.1", 1.100000023841858), ("3.4028234e38", 3.4028234663852886e38), ("16777216", 16777216.0)),
    ),
    Typed(
        "DOUBLE",
        DoubleType(),
        (("1.1", 1.1), ("-2.2250738585072014e-308", -2.2250738585072014e-308), ("0.1e0 + 0.2e0", 0.1 + 0.2)),
    ),
    Typed("BIT(1)", BooleanType(), (("b'1'", True), ("b'0'", False))),
    Typed("BIT(12)", BinaryType(), (("b'101000000001'", b64(b"\x0a\x01")),)),
    Typed("CHAR(5)", StringType(), (("'a  '", "a"), ("'☃é'", "☃é"))),
    Typed("VARCHAR(300)", StringType(), (("'😀\\n\"\\\\ '", '😀\n"\\ '), ("''", ""))),
    Typed("VARCHAR(9) CHARACTER SET latin1", StringType(), (("'é€Ÿ'", "é€Ÿ"), ("_latin1 X'81'", "\x81"))),
    Typed("VARCHAR(9) CHARACTER SET ucs2", StringType(), (("'żółw'", "żółw"),)),
    Typed("VARCHAR(9) CHARACTER SET cp1251 COLLATE cp1251_bin", StringType(), (("'Юлия'", "Юлия"),)),
    Typed("TEXT CHARACTER SET sjis", StringType(), (("'日本'", "日本"),)),
    Typed("LONGTEXT", StringType(), (("REPEAT('ab', 40000)", "ab" * 40000),)),
    Typed("JSON", StringType(), (("'{\"a\": [1, 2.50, null]}'", '{"a": [1, 2.50, null]}'),)),
    Typed("ENUM('x', 'it''s', 'ä')", StringType(), (("'ä'", "ä"), ("'it''s'", "it's"), ("0", ""))),
    Typed("ENUM('Ö', 'ö2') CHARACTER SET latin1", StringType(), (("'ö2'", "ö2"), ("'Ö'", "Ö"))),
    Typed("SET('z', 'b', 'a')", StringType(), (("'a,z'", "z,a"), ("''", ""))),
    Typed("BINARY(4)", BinaryType(), (("X'0100'", b64(b"\1\0\0\0")), ("X'00000000'", b64(bytes(4))))),
    Typed("VARBINARY(300)", BinaryType(), (("X'00FF00'", b64(b"\0\xff\0")),)),
    Typed("BLOB", BinaryType(), (("REPEAT(X'00FF', 300)", b64(b"\0\xff" * 300)),)),
    Typed(
        "DATE",
        DateType(),
        (
            ("'1000-01-01'", "1000-01-01"),
            ("'9999-12-31'", "9999-12-31"),
            ("'0000-00-00'", None),
            ("'2026-00-05'", None),
        ),
    ),
    Typed(
        "DATETIME", TimestampType(), (("'2026-03-01 02:30:00'", "2026-03-01T02:30:00"), ("'0000-00-00 00:00:00'", None))
    ),
    Typed("DATETIME(3)", TimestampType(), (("'1000-01-01 00:00:00.007'", "1000-01-01T00:00:00.007"),)),
    Typed("DATETIME(6)", TimestampType(), (("'9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999"),)),
    Typed(
        "TIMESTAMP(6) NULL",
        TimestamptzType(),
        (("'2026-03-01 02:30:00.000001'", "2026-03-01T01:30:00.000001Z"), ("'0000-00-00'", None)),
    ),
    Typed("TIMESTAMP NULL", TimestamptzType(), (("'2037-07-01 00:00:00'", "2037-06-30T23:00:00Z"),)),
    Typed("TIME", LongType(), (("'-838:59:59'", -3020399000000), ("'12:00:01'", 43201000000))),
    Typed("TIME(3)", LongType(), (("'-00:00:00.001'", -1000), ("'100:00:00.5'", 360000500000))),
    Typed("TIME(6)", LongType(), (("'-12:34:56.789012'", -45296789012), ("'00:00:00'", 0))),
    Typed("YEAR", IntegerType(), (("1901", 1901), ("2155", 2155), ("'0000'", 0))),
    Typed("POINT", BinaryType(), (("ST_GeomFromText('POINT(1 2)', 4326)", b64(POINT)),)),
    Typed("GEOMETRY", BinaryType(), (("ST_GeomFromText('POINT(1 2)')", b64(POINT)),)),
)

BYTES = b64(b"\0\xff" * 60)
IN_LINES = "\\n".join(BYTES[i : i + 76] for i in range(0, len(BYTES), 76))

# JSON of MariaDB is text; that of MySQL has values of its own, some of which JSON itself does not have. Texts of points
# have the order of axes of their reference system there.
MYSQL_TYPES = (
    *(each for each in TYPES if each.definition not in ("JSON", "POINT")),
    Typed("POINT", BinaryType(), (("ST_GeomFromText('POINT(2 1)', 4326)", b64(POINT)),)),  # latitude first
    Typed(
        "JSON",
        StringType(),
        (
            ('\'{"b": [1, 2.5, null, true], "a": "☃ \\\\""}\'', '{"a": "☃ \\"", "b": [1, 2.5, null, true]}'),
            (
                "'[18446744073709551615, -9223372036854775808, 1e300, 0.1]'",
                "[18446744073709551615, -9223372036854775808, 1e300, 0.1]",
            ),
            ("JSON_ARRAY(CAST(2.50 AS DECIMAL(9, 2)), 1.0e0)", "[2.50, 1.0]"),
            (
                "JSON_ARRAY(TIMESTAMP'2026-03-01 02:30:00.5', DATE'2026-03-01', TIME'-12:00:01')",
                '["2026-03-01 02:30:00.500000", "2026-03-01", "-12:00:01.000000"]',
            ),
            ("JSON_ARRAY(X'00FF', REPEAT(X'00FF', 60))", f'["base64:type15:AP8=", "base64:type15:{IN_LINES}"]'),
            ("'null'", "null"),
            ("'\"text\"'", '"text"'),
            ("JSON_OBJECT('k', REPEAT('x', 70000))", '{"k": "' + "x" * 70000 + '"}'),
        ),
    ),
)
