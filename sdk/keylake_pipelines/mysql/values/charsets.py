"""Character sets of the server as codecs of Python."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from keylake.errors import DefinitionError

if TYPE_CHECKING:
    from typing_extensions import Buffer

BINARY = "binary"
_WIDE_BACKSLASH = {0xFF3C: "\\"}  # where Python has it, the server has the other one
_OF_2005 = {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"}  # GB 18030 gave a character another code then
_CORRECTED = {
    "keylake_sjis": ("shift_jis", _WIDE_BACKSLASH),
    "keylake_ujis": ("euc_jp", _WIDE_BACKSLASH),
    "keylake_gb18030": ("gb18030", _OF_2005),
}
# Sets of one byte are learnt from the server, which differs from Python in some characters of most.
_CODECS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "ascii": "ascii",
    "latin1": "cp1252",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "big5": "big5",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "gb18030": "keylake_gb18030",
    "sjis": "keylake_sjis",
    "cp932": "cp932",
    "euckr": "cp949",
    "ujis": "keylake_ujis",
}


def _as_it_is(error: UnicodeError) -> tuple[str, int]:
    """The server's latin1 has a character for each byte: the five that cp1252 lacks are controls of their number."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(map(chr, error.object[error.start : error.end])), error.end


codecs.register_error("keylake.as_it_is", _as_it_is)


def _corrected(asked: str) -> codecs.CodecInfo | None:
    if asked not in _CORRECTED:
        return None
    name, others = _CORRECTED[asked]
    of_python = codecs.lookup(name)

    def decode(data: Buffer, errors: str = "strict") -> tuple[str, int]:
        text, length = of_python.decode(bytes(data), errors)
        return text.translate(others), length

    return codecs.CodecInfo(of_python.encode, decode, name=asked)


codecs.register(_corrected)


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
