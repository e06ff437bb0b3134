"""Requests by hand: tokens, routes, bodies, pages and tags, each with one sentence where it is refused."""

from typing import Any

import pytest

from integration.rest.endpoint import Endpoint

SPACES = "/v1/lake/namespaces"
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
BAD = "BadRequestException"


@pytest.mark.parametrize(
    ("authorization", "says"),
    [
        ("", "the request has no token; send the header Authorization: Bearer"),
        ("Basic {token}", "the request has no token"),
        ("Bearer ", "the request has no token"),
        ("Bearer {token}x", "the token is not that of this server"),
        ("Bearer wrong", "the token is not that of this server"),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/config"), ("POST", SPACES), ("GET", "/nothing")])
def test_a_request_needs_the_token(endpoint: Endpoint, method: str, path: str, authorization: str, says: str) -> None:
    told = endpoint.ask(method, path, headers={"Authorization": authorization.format(token=endpoint.token)})
    assert told.status == 401
    assert told.headers["www-authenticate"] == "Bearer"
    kind, sentence = told.error
    assert kind == "NotAuthorizedException"
    assert sentence.startswith(says)
    assert endpoint.token not in told.text


def test_the_scheme_of_a_token_has_any_case(endpoint: Endpoint) -> None:
    assert endpoint.ask("GET", "/v1/config", headers={"Authorization": f"bearer {endpoint.token}"}).status == 200


@pytest.mark.parametrize("query", ["", "?warehouse=", "?warehouse=lake"])
def test_the_configuration_names_the_catalog_and_its_endpoints(endpoint: Endpoint, query: str) -> None:
    found = endpoint.ask("GET", f"/v1/config{query}").json
    assert found["overrides"] == {"prefix": "lake"}
    assert "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}" in found["endpoints"]
    assert "POST /v1/{prefix}/views/rename" in found["endpoints"]
    assert "POST /v1/{prefix}/transactions/commit" in found["endpoints"]
    plans = [each.rpartition("/")[2] for each in found["endpoints"] if "plan" in each]
    assert plans == ["plan"], "a plan is one answer, which is neither asked for again nor ended"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind", "says"),
    [
        ("GET", "/v1/config?warehouse=x", None, 400, BAD, "has no catalog x for other engines; name one that it has"),
        ("GET", "/v1/spark_catalog/namespaces", None, 404, "NotFoundException", "no catalog spark_catalog"),
        ("GET", "/v1", None, 404, "NotFoundException", "there is nothing at /v1; begin with GET /v1/config"),
        ("POST", "/v1/oauth/tokens", None, 404, "NotFoundException", "there is nothing at /v1/oauth/tokens"),
        ("POST", "/v1/lake/transactions/commit", {}, 400, BAD, "the body of the request cannot be used"),
        ("POST", "/v1/config", None, 405, BAD, "POST is no method of /v1/config; use GET"),
        ("PUT", f"{SPACES}/a", None, 405, BAD, "use GET or HEAD or DELETE"),
        ("POST", SPACES, b"{", 400, BAD, "the body of the request is no JSON (line 1, column 2)"),
        ("POST", SPACES, b"[" * 100_000, 400, BAD, "the body of the request has more levels or longer texts than"),
        ("POST", SPACES, b"", 400, BAD, "the body of the request is no object in JSON"),
        ("POST", SPACES, [], 400, BAD, "the body of the request is no object in JSON"),
        ("POST", SPACES, {}, 400, BAD, "has no name; give its levels as a list"),
        ("POST", SPACES, {"namespace": ["a", ""]}, 400, BAD, "has no name; give its levels as a list"),
        ("POST", SPACES, {"namespace": ["a", 1]}, 400, BAD, "a list in the body of the request is 1; give a text"),
        ("POST", SPACES, {"namespace": ["a"], "properties": {"b": 1}}, 400, BAD, "b in the body of the request is 1"),
        ("POST", f"{SPACES}/a/tables", {"name": "t"}, 400, BAD, "has no schema; give it as an object"),
        ("POST", f"{SPACES}/a/tables", {"schema": SCHEMA}, 400, BAD, "the name in the body of the request is missing"),
        ("POST", f"{SPACES}/a/tables", {"name": "t", "schema": {"type": "x"}}, 400, BAD, "used: Cannot parse"),
        ("POST", f"{SPACES}/a/tables/t", {"updates": 1}, 400, BAD, "the body of the request cannot be used"),
        ("POST", "/v1/lake/tables/rename", {}, 400, BAD, "has no name"),
        ("GET", f"{SPACES}/a%1F/tables", None, 400, BAD, "a level of namespace 'a.' has no name"),
        ("GET", f"{SPACES}//tables", None, 400, BAD, "the path names no namespace"),
        ("GET", f"{SPACES}?pageSize=0", None, 400, BAD, "pageSize=0 is no size of a page"),
        ("GET", f"{SPACES}?pageSize=2&pageToken=x", None, 400, BAD, "pageToken=x is none of this server"),
        ("GET", f"{SPACES}/no_such", None, 404, "NoSuchNamespaceException", "Namespace does not exist: no_such"),
        ("GET", f"{SPACES}/no_such/tables", None, 404, "NoSuchNamespaceException", "Namespace does not exist"),
        ("GET", f"{SPACES}/no_such/tables/t", None, 404, "NoSuchTableException", "Table does not exist: no_such.t"),
        ("GET", f"{SPACES}/no_such/views/v", None, 404, "NoSuchViewException", "View does not exist: no_such.v"),
        ("DELETE", f"{SPACES}/no_such/tables/t", None, 404, "NoSuchTableException", "Table does not exist"),
        ("GET", f"{SPACES}/no_such/tables/t?snapshots=some", None, 400, BAD, "snapshots=some is neither all nor refs"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_answered(
    endpoint: Endpoint, method: str, path: str, body: object, status: int, kind: str, says: str
) -> None:
    told = endpoint.ask(method, path, body)
    assert told.status == status, told.text
    named, sentence = told.error
    assert named == kind
    assert says in sentence
    assert "org.apache" not in sentence


def test_types_of_format_version_3_need_a_table_that_has_it(endpoint: Endpoint) -> None:
    endpoint.ask("POST", SPACES, {"namespace": ["types_of_3"]})
    tables = f"{SPACES}/types_of_3/tables"
    schema = {"type": "struct", "fields": [{"id": 1, "name": "at", "required": False, "type": "timestamp_ns"}]}
    says = "does not fit format version 2: Invalid type for at: timestamp_ns is not supported until v3; create"
    told = endpoint.ask("POST", tables, {"name": "t", "schema": schema})
    assert (told.status, says in told.error[1]) == (400, True), told.text
    plain = endpoint.ask("POST", tables, {"name": "t", "schema": SCHEMA})
    assert plain.status == 200
    change = {"updates": [{"action": "add-schema", "schema": schema | {"schema-id": 1}}], "requirements": []}
    told = endpoint.ask("POST", f"{tables}/t", change)
    assert (told.status, says in told.error[1]) == (400, True), told.text
    upgrade = {"action": "upgrade-format-version", "format-version": 3}
    assert endpoint.ask("POST", f"{tables}/t", change | {"updates": [upgrade, *change["updates"]]}).status == 200
    made = endpoint.ask("POST", tables, {"name": "u", "schema": schema, "properties": {"format-version": "3"}})
    assert made.json["metadata"]["format-version"] == 3, made.text


def test_a_body_has_a_limit(endpoint: Endpoint) -> None:
    told = endpoint.ask("POST", SPACES, b"{" + b" " * (16 << 20))
    assert told.status == 413
    assert told.error[1].startswith("the body of the request has more than 16777216 bytes")
    assert endpoint.ask("GET", "/v1/config").status == 200


def names(reply: Any) -> list[str]:
    return [each[-1] for each in reply.json["namespaces"]]


def test_lists_come_in_pages(endpoint: Endpoint) -> None:
    for name in "abc":
        assert endpoint.ask("POST", SPACES, {"namespace": ["pages", name]}).status == 200
    listed = f"{SPACES}?parent=pages"
    assert sorted(names(endpoint.ask("GET", listed))) == ["a", "b", "c"]
    first = endpoint.ask("GET", f"{listed}&pageSize=2&pageToken=")
    rest = endpoint.ask("GET", f"{listed}&pageSize=2&pageToken={first.json['next-page-token']}")
    assert sorted(names(first) + names(rest)) == ["a", "b", "c"]
    assert len(names(first)) == 2
    assert rest.json.get("next-page-token") is None


def test_an_answer_that_the_client_has_is_not_sent_again(endpoint: Endpoint) -> None:
    assert endpoint.ask("POST", SPACES, {"namespace": ["tags"]}).status == 200
    made = endpoint.ask("POST", f"{SPACES}/tags/tables", {"name": "t", "schema": SCHEMA})
    assert made.status == 200, made.text
    place = f"{SPACES}/tags/tables/t"
    first = endpoint.ask("GET", place)
    tag = first.headers["etag"]
    assert first.json["metadata-location"] == made.json["metadata-location"]
    again = endpoint.ask("GET", place, headers={"If-None-Match": f'"x", {tag}'})
    assert (again.status, again.text, again.headers["etag"]) == (304, "", tag)
    for other in (f"{place}?snapshots=refs", place):
        as_merging = {"X-Keylake-Client": "merges"} if other == place else {}
        assert endpoint.ask("GET", other, headers={"If-None-Match": tag} | as_merging).status == 200
    change = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    assert endpoint.ask("POST", place, change).json["metadata"]["properties"]["a"] == "b"
    assert endpoint.ask("GET", place, headers={"If-None-Match": tag}).status == 200


def test_what_is_there_is_told_without_a_body(endpoint: Endpoint) -> None:
    assert endpoint.ask("POST", SPACES, {"namespace": ["heads"]}).status == 200
    endpoint.ask("POST", f"{SPACES}/heads/tables", {"name": "t", "schema": SCHEMA})
    places = [f"{SPACES}/heads", f"{SPACES}/heads/tables/t", f"{SPACES}/heads/tables/x", f"{SPACES}/heads/views/t"]
    assert [endpoint.ask("HEAD", place).status for place in places] == [204, 204, 404, 404]
    assert endpoint.ask("POST", f"{SPACES}/heads/tables/t/metrics", {"report-type": "scan-report"}).status == 204


def test_properties_of_a_namespace_change(endpoint: Endpoint) -> None:
    made = endpoint.ask("POST", SPACES, {"namespace": ["props"], "properties": {"a": "1", "b": "2"}})
    assert made.json["properties"].items() >= {"a": "1", "b": "2"}.items()
    told = endpoint.ask("POST", f"{SPACES}/props/properties", {"removals": ["a", "z"], "updates": {"b": "3", "c": "4"}})
    assert {name: sorted(keys) for name, keys in told.json.items()} == {
        "removed": ["a"], "missing": ["z"], "updated": ["b", "c"]
    }  # fmt: skip
    both = endpoint.ask("POST", f"{SPACES}/props/properties", {"removals": ["b"], "updates": {"b": "5"}})
    assert (both.status, both.error[0]) == (422, "UnprocessableEntityException")
    assert endpoint.ask("POST", SPACES, {"namespace": ["props"]}).error[0] == "AlreadyExistsException"
    assert endpoint.ask("GET", f"{SPACES}/props").json["properties"]["b"] == "3"
