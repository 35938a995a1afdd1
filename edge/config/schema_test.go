//go:build !race

package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// validators judge a list of JSON values by the schema at the first argument, and print a list of
// booleans.
var validators = map[string][]string{
	"ajv": {"node", "-e", `
const ajv = new (require('ajv'))({schemaId: 'auto'});
const [schema, all] = process.argv.slice(1).map(f => JSON.parse(require('fs').readFileSync(f)));
const valid = ajv.compile(schema);
console.log(JSON.stringify(all.map(x => valid(x))));`},
	"jsonschema": {"/usr/bin/python3", "-c", `
import json, sys, jsonschema
schema, values = [json.load(open(f)) for f in sys.argv[1:]]
jsonschema.Draft7Validator.check_schema(schema)
judge = jsonschema.Draft7Validator(schema)
print(json.dumps([judge.is_valid(x) for x in values]))`},
}

// judged returns whether each of the values is valid by the schema, in the eyes of a validator.
func judged(t *testing.T, command []string, schema []byte, values []any) (valid []bool) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(command[0] + " is not installed")
	}
	dir := t.TempDir()
	file, data := filepath.Join(dir, "schema.json"), filepath.Join(dir, "values.json")
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: schema, data: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), command[0],
		append(slices.Clone(command[1:]), file, data)...)
	run.Env = append(os.Environ(), "NODE_PATH=/usr/share/nodejs") // the libraries of Debian
	var complaint bytes.Buffer
	run.Stderr = &complaint
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.Bytes())
	}
	if err := json.Unmarshal(out, &valid); err != nil || len(valid) != len(values) {
		t.Fatalf("%d answers, %v", len(valid), err)
	}
	return valid
}

// decoded returns a file as validators see it; ok is false where it is no mapping.
func decoded(text []byte) (x map[string]any, ok bool) {
	if yaml.Unmarshal(text, &x) != nil || x == nil {
		return nil, false
	}
	_, err := json.Marshal(x) // JSON has no names that are numbers
	return x, err == nil
}

var yamlBlock = regexp.MustCompile("(?s)\n```yaml\n(.*?)```")

// goodFiles returns files that config check accepts: those of its tests, of deploy/ and of docs/.
func goodFiles(t *testing.T) (all [][]byte) {
	t.Helper()
	for _, glob := range []string{
		"edge/config/testdata/good/*.yaml", "deploy/headgate*.yaml", "docs/*.md",
	} {
		paths, err := filepath.Glob("../../" + glob)
		if err != nil || len(paths) == 0 {
			t.Fatal(glob, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(path, ".md") {
				all = append(all, text)
				continue
			}
			for _, block := range yamlBlock.FindAllSubmatch(text, -1) {
				if _, err := config.Parse(path, block[1]); err == nil {
					all = append(all, block[1])
				}
			}
		}
	}
	return all
}

// badFiles are what the schema refuses, as config check does.
var badFiles = strings.Split(`listne: {}
listen: {upd: []}
rules: [{name: a, limit: 1, window: 1s, lmit: 2}]
policies: [{name: a, match: {pth: /}, skip: all}]
policies: [{name: a, match: {any: [{not: {hots: b}}]}, skip: all}]
sets: {a: {cdir: []}}
pools: [{name: a, shed: 1}]
clients: {truste: []}
rls: {xds: {server: "a:1", tls: {ca: x}}}
memory: []
memory: 64MB
memory: 1
memory: -1
node: {}
node: "a b"
pop: "ä"
headers: draft-11
surge: {sample: 5}
surge: {min_rate: 1.5}
surge: {learn: 10}
listen: {udp: "127.0.0.1"}
listen: {http: "127.0.0.1:65536"}
listen: {grpc: "unix:"}
gossip: {bind: "unix:/x"}
ring: {servers: ["a:1 2 3"]}
ring: {flush: 1 s}
ring: {flush: 1d}
clients: {trusted: [10.0.0.0/33]}
clients: {trusted: [10.0.0]}
clients: {ipv4: 7}
clients: {path_fold: [slahs]}
rules: [{limit: 1, window: 1s}]
rules: [{name: a, window: 1s}]
rules: [{name: a, limit: 1}]
rules: [{name: a, limit: "1", window: 1s}]
rules: [{name: a, limit: 1.5, window: 1s}]
rules: [{name: a, limit: 0, window: 1s}]
rules: [{name: a, limit: 1, window: 1s, mode: on}]
rules: [{name: a, limit: 1, window: 1s, action: block}]
rules: [{name: a, limit: 1, window: 1s, action: block, block_for: 0s}]
rules: [{name: a, limit: 1, window: 1s, block_for: 1m}]
rules: [{name: a, limit: 1, window: 1s, block_for: [1m, 2m]}]
rules: [{name: a, limit: 1, window: 1s, lease: 1m}]
rules: [{name: a, limit: 1, window: 1s, delay: 1s}]
rules: [{name: a, limit: 1, window: 1s, scale: 7}]
rules: [{name: a, limit: 1, window: 1s, max_blast: 1000001}]
rules: [{name: a, limit: 1, window: 1s, retry_spread: 10}]
rules: [{name: a, limit: 1, window: 1s, reserve: {b: 20}}]
policies: [{match: {}, skip: all}]
policies: [{name: a, skip: all}]
policies: [{name: a, match: {}, limit: 1}]
policies: [{name: a, match: {}, limit: 1, window: 1s, rules: [per-ip]}]
policies: [{name: a, match: {}, skip: all, deny: 403}]
policies: [{name: a, match: {}, deny: 200}]
policies: [{name: a, match: {any: []}, skip: all}]
policies: [{name: a, match: {path: []}, skip: all}]
policies: [{name: a, match: {}, skip: all, until: tomorrow}]
policies: [{name: a, match: {}, limit: {b: 0}, window: 1s}]
policies: [{name: a, match: {}, limit: 1, window: 1s, key: []}]
policies: [{name: a, match: {}, limit: 1, window: 1s, cost: 0}]
policies: [{name: a, match: {}, limit: 1, window: 1s, ladder: [{v4: 24}]}]
policies: [{name: a, match: {}, limit: {b: 1}, window: 1s, tiers: {of: tier}}]
policies: [{name: a, match: {}, deny: 403, on_deny: {deceive: 1}}]
sets: {a: {cidr: [], values: []}}
sets: {a: {}}
sets: {"a b": {values: [x]}}
pools: [{shed_above: 0.5}]
pools: [{name: a, shed_above: 1.5}]
pools: [{name: a, up: 10}]
tickets: {keep: forever}
tickets: `, "\n")

// TestSchema: the schema of headgate.yaml accepts what config check accepts, and refuses what one
// place shows, in the eyes of two validators.
func TestSchema(t *testing.T) {
	t.Parallel()
	var values []any
	names := []string{}
	for _, text := range goodFiles(t) {
		if x, ok := decoded(text); ok {
			values, names = append(values, x), append(names, string(text))
		}
	}
	good := len(values)
	for _, text := range badFiles {
		x, ok := decoded([]byte(text))
		if _, err := config.Parse("bad", []byte(text)); err == nil || !ok {
			t.Fatalf("%s: no fault", text)
		}
		values, names = append(values, x), append(names, text)
	}
	for name, command := range validators {
		for i, valid := range judged(t, command, config.Schema(), values) {
			if want := i < good; valid != want {
				t.Errorf("%s: valid %v:\n%.600s", name, valid, names[i])
			}
		}
	}
	if good < 60 || !bytes.HasPrefix(config.Schema(), []byte("{")) {
		t.Errorf("%d files", good)
	}
}

// TestSchemaOfOddFiles changes each value of a file with every field to others, one at a time:
// where config check has no fault, the schema accepts.
func TestSchemaOfOddFiles(t *testing.T) {
	t.Parallel()
	var root yaml.Node
	turn := 0
	var values []any
	var texts []string
	for _, name := range []string{"full", "policies", "pools", "rule-kinds", "units", "prefixes"} {
		file, err := os.ReadFile("testdata/good/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(file, &root); err != nil {
			t.Fatal(err)
		}
		eachChanged(&root, func() {
			// A part is enough for a short test; each value comes in many places.
			if turn++; turn%edgetest.Rounds(31, 11) != 0 {
				return
			}
			text, err := yaml.Marshal(&root)
			if err != nil {
				t.Fatal(err)
			}
			x, ok := decoded(text)
			if _, err := config.Parse("odd", text); err == nil && ok {
				values, texts = append(values, x), append(texts, string(text))
			}
		})
	}
	for i, valid := range judged(t, validators["ajv"], config.Schema(), values) {
		if !valid {
			t.Errorf("refused:\n%s", texts[i])
		}
	}
	if len(values) < edgetest.Rounds(50, 150) {
		t.Errorf("%d files", len(values))
	}
}

// eachChanged calls visit with each value below n changed in turn.
func eachChanged(n *yaml.Node, visit func()) {
	for _, child := range n.Content {
		if child.Kind != yaml.ScalarNode {
			eachChanged(child, visit)
			continue
		}
		was := *child
		for _, other := range []string{
			"0", "1", "7", "0.5", "-1", "1e3", "true", "false", "all", "free", "off", "10s", "0s",
			"1h0m", "64MiB", "50%", "127.0.0.1:1", "client", "block", "shed", "bucket", "window",
			"concurrency", "global", "2001:db8::/32", `"7"`, `"true"`, `""`, "header.x-a", "@plans",
		} {
			*child = yaml.Node{Kind: yaml.ScalarNode, Value: strings.Trim(other, `"`)}
			if other[0] == '"' {
				child.Style = yaml.DoubleQuotedStyle
			}
			visit()
		}
		*child = was
	}
}
