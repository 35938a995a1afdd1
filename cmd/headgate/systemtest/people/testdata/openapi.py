"""Sends the example of each operation of an OpenAPI document to a daemon.

openapi.py DOCUMENT DECISIONS ADMIN FITS

Each answer must have a status of the document, and one of 2xx unless FITS is "some"; its type must
be the document's; and JSON must be as the schema says, without a member more.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request

import jsonschema

FREE = {  # nothing of the built-in configuration fits the example
    ("get", "/v1/leases"), ("delete", "/v1/mitigations"), ("delete", "/v1/limits"),
    ("post", "/v1/test-request"), ("post", "/v1/surge/apply"), ("delete", "/v1/surge/apply"),
} | {(m, "/v1/" + p) for m in ("get", "post") for p in ("acquire", "release", "renew", "load")}


def strict(x):
    """Returns schema x without room for members that it does not name."""
    if isinstance(x, list):
        return [strict(y) for y in x]
    if not isinstance(x, dict):
        return x
    x = {name: strict(y) for name, y in x.items()}
    if isinstance(x.get("properties"), dict) and "type" in x:
        x.setdefault("additionalProperties", False)
    return x


def sent(base, path, method, operation):
    """Returns status, type and body of the answer to the example."""
    query, headers = {}, {}
    for p in operation.get("parameters", ()):
        if not p.get("required"):
            continue
        assert "example" in p, (path, p)
        if p["in"] == "query":
            query[p["name"]] = p["example"]
        elif p["in"] == "header":
            headers[p["name"]] = p["example"]
        else:
            path = path.replace("{%s}" % p["name"], str(p["example"]))
    data = None
    if "requestBody" in operation:
        data = json.dumps(operation["requestBody"]["content"]["application/json"]["example"]).encode()
        headers["Content-Type"] = "application/json"
    url = base + path + ("?" + urllib.parse.urlencode(query) if query else "")
    request = urllib.request.Request(url, data, headers, method=method.upper())
    try:
        answer = urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as denied:
        answer = denied
    with answer:
        kind = (answer.headers.get("Content-Type") or "").split(";")[0]
        return answer.status, kind, b"" if kind == "text/event-stream" else answer.read()


def main(file, decisions, admin, fits):
    with open(file, encoding="utf-8") as f:
        document = json.load(f)
    components = strict(document["components"])
    asked = 0
    for path, item in document["paths"].items():
        base = decisions if "servers" in item else admin
        for method, operation in item.items():
            if method == "servers":
                continue
            status, kind, body = sent(base, path, method, operation)
            asked += 1
            known = operation["responses"]
            response = known.get(str(status)) or known.get("%dXX" % (status // 100))
            assert response, "%s %s: %d: %r" % (method, path, status, body)
            assert status < 300 or status < 500 and (fits == "some" or (method, path) in FREE), (
                method, path, status, body)
            if "$ref" in response:
                response = document["components"]["responses"][response["$ref"].split("/")[-1]]
            if not body:
                continue
            assert kind in response["content"], (method, path, kind)
            if kind.endswith("json"):
                schema = strict(response["content"][kind]["schema"])
                jsonschema.Draft202012Validator(
                    {**schema, "components": components}).validate(json.loads(body))
    print(asked, "operations")


main(*sys.argv[1:])
