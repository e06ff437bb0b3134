"""Character sets of the server as codecs of Python."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from keylake.errors import DefinitionError

if TYPE_CHECKING:
    from typing_extensions import Buffer

BINARY = "binary"
_CODECS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "ascii": "ascii",
    "latin1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "macroman": "mac_roman",
    "macce": "mac_latin2",
    "tis620": "tis_620",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "big5": "big5",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "gb18030": "gb18030",
    "sjis": "shift_jis",
    "cp932": "cp932",
    "euckr": "cp949",
    "ujis": "euc_jp",
    "eucjpms": "euc_jp",
}


def _as_it_is(error: UnicodeError) -> tuple[str, int]:
    """The server's latin1 has a character for each byte: the five that cp1252 lacks are controls of their number."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(map(chr, error.object[error.start : error.end])), error.end


codecs.register_error("keylake.as_it_is", _as_it_is)


def lacks(charset: str) -> bool:
    """Python has no codec of a character set."""
    return charset != BINARY and charset not in _CODECS


def learn(charset: str, characters: str) -> None:
    """Make a codec of the characters that the server has for the bytes from 0 on."""
    back = {ord(each): i for i, each in reversed([*enumerate(characters)])}
    there = dict(enumerate(map(ord, characters)))

    def decode(data: Buffer, errors: str = "strict") -> tuple[str, int]:
        return codecs.charmap_decode(data, errors, there)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return codecs.charmap_encode(text, errors, back)

    name = f"keylake_{charset}"
    codecs.register(lambda asked: codecs.CodecInfo(encode, decode, name=name) if asked == name else None)
    _CODECS[charset] = name


def codec_of(charset: str, column: str) -> tuple[str, str]:
    """The codec of Python and what it does with bytes that it does not know."""
    codec = _CODECS.get(charset)
    if codec is None:
        raise DefinitionError(
            f"Column {column} has the character set {charset!r}, which cannot be read from the binary log."
            " Convert the column to utf8mb4, or leave its table out."
        )
    return codec, "keylake.as_it_is" if codec.startswith("cp1") else "strict"
