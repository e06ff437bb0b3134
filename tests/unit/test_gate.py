"""What `publish(require=...)` takes."""

import pytest

import keylake as kl
from keylake._gate.checks import checks_of


@pytest.mark.parametrize(
    ("require", "sentence"),
    [
        (kl.null_rate("a", below=1), r"this is one check\. Write require=\[\.\.\.\]"),
        ("clicks > 0", "'clicks > 0' is not a list"),
        (3, "3 is not a list"),
        ([kl.condition("a > 0"), "a > 0", None], r"number 2 is 'a > 0', number 3 is None"),
    ],
)
def test_all_that_is_wrong_is_told_at_once(require: object, sentence: str) -> None:
    with pytest.raises(kl.DefinitionError, match=sentence):
        checks_of(require)


def test_any_list_of_checks_will_do() -> None:
    checks = (kl.condition("a > 0"), kl.unique("a"))
    assert checks_of(each for each in checks) == checks
    assert checks_of([]) == ()
