package admin

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/docs"
	"github.com/headgate-dev/headgate/edge/api"
)

// TestOpenAPI keeps docs/openapi.json the description of the routes and of the views: a route, a
// parameter or a member that the document does not have fails here.
func TestOpenAPI(t *testing.T) {
	d := document{
		components: map[string]any{}, comments: commentsOf(t, "../api"), t: t,
		paths: map[string]map[string]any{}, problems: object{},
	}
	described := operations()
	for _, r := range append(newDoor(t).routes(), decisionRoutes()...) {
		name := r.method + " " + r.path
		o, known := described[name]
		if !known {
			t.Errorf("%s is not described", name)
			continue
		}
		delete(described, name)
		d.add(&r, o)
	}
	for name := range described {
		t.Errorf("%s is described, and no route", name)
	}
	text, err := json.MarshalIndent(d.whole(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if flag.Lookup("update").Value.String() == "true" { // of package admin_test
		if err := os.WriteFile("../../docs/openapi.json", text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != string(docs.OpenAPI) {
		t.Error("docs/openapi.json is not what the routes are: make golden")
	}
	w := newDoor(t).ask("GET", "/v1/openapi.json", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" ||
		w.Body.String() != string(docs.OpenAPI) {
		t.Errorf("%d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
}

type object = map[string]any

// document is the description that grows.
type document struct {
	t          *testing.T
	paths      map[string]map[string]any
	components map[string]any
	problems   object            // answers, by name
	comments   map[string]string // of types, and of members as Type.Field
}

// add describes the route r by o.
func (d *document) add(r *endpoint, o operation) {
	is := object{
		"operationId": o.id, "tags": []string{o.tag}, "summary": sentence(r.purpose),
		"description": sentence(r.purpose) + ".",
		"responses":   d.responses(&o),
	}
	var parameters []object
	query := strings.TrimPrefix(r.query, "?")
	for name := range strings.SplitSeq(query, "&") {
		if name = strings.TrimSuffix(name, "="); name != "" {
			parameters = append(parameters, d.parameter(name, "query", &o))
			if name == "key" && o.servesAdmin {
				parameters = append(parameters, d.parameter("shown", "query", &o))
			}
		}
	}
	for _, name := range o.headers {
		parameters = append(parameters, d.parameter(name, "header", &o))
	}
	if strings.Contains(r.path, "{path}") {
		parameters = append(parameters, d.parameter("path", "path", &o))
	}
	if parameters != nil {
		is["parameters"] = parameters
	}
	if o.body != nil {
		is["requestBody"] = object{"required": !o.bodiless, "content": object{
			"application/json": object{"schema": o.body, "example": o.example},
		}}
	}
	switch {
	case !o.servesAdmin:
		is["security"] = []object{}
	case o.tag == "health" && !strings.HasPrefix(r.path, "/v1/"):
		is["security"] = []object{}
	case o.tag == "change":
		is["security"] = anybody
	}
	if d.paths[r.path] == nil {
		d.paths[r.path] = object{}
	}
	if !o.servesAdmin {
		d.paths[r.path]["servers"] = []object{
			{"url": "http://127.0.0.1:4291", "description": "decisions"},
		}
	}
	d.paths[r.path][strings.ToLower(r.method)] = is
}

// anybody has the token, or asks on loopback where none is set.
var anybody = []object{{"token": []string{}}, {}}

// parameter describes a parameter of o.
func (d *document) parameter(name, in string, o *operation) object {
	p, known := parameters[name]
	if own, has := o.parameters[name]; has {
		p, known = own, true
	}
	if !known {
		d.t.Errorf("%s: parameter %s is not described", o.id, name)
	}
	is := object{"name": name, "in": in, "description": p.text, "schema": p.schema}
	if required := slices.Contains(o.required, name) || in == "path"; required {
		is["required"], is["example"] = true, p.example
		if name == "key" && o.servesAdmin {
			is["allowEmptyValue"] = true // beside shown
		}
	}
	return is
}

// responses describes the answers of o.
func (d *document) responses(o *operation) object {
	all := object{}
	for status, is := range o.answers {
		all[status] = d.response(status, is)
	}
	for _, status := range o.problems {
		text := strconv.Itoa(status)
		if _, has := all[text]; !has {
			name := "Problem" + text
			d.problems[name] = d.response(text, problem{})
			all[text] = object{"$ref": "#/components/responses/" + name}
		}
	}
	return all
}

// response describes an answer: a problem, a type of content, nothing, or JSON like a value.
func (d *document) response(status string, is any) object {
	kind, schema := "application/json", any(nil)
	switch is := is.(type) {
	case nil:
		return object{"description": describe(status)}
	case problem:
		kind, schema = "application/problem+json", ref("Problem")
	case denial:
		kind = "application/problem+json"
		schema = object{"anyOf": []any{ref("Denial"), ref("Problem")}}
	case plainText:
		kind, schema = string(is), object{"type": "string"}
	case object:
		schema = is
	default:
		schema = d.schemaOf(reflect.TypeOf(is))
	}
	return object{"description": describe(status), "content": object{
		kind: object{"schema": schema},
	}}
}

// schemaOf returns the schema of JSON of type t; a struct becomes a component.
func (d *document) schemaOf(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case reflect.TypeFor[api.Rates]():
		return object{"type": "array", "items": object{"type": []string{"number", "null"}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []object{d.schemaOf(t.Elem()), {"type": "null"}}}
	case reflect.Struct:
		if _, has := d.components[t.Name()]; !has {
			d.components[t.Name()] = object{} // a type may hold itself
			d.components[t.Name()] = d.structure(t)
		}
		return ref(t.Name())
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": d.schemaOf(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schemaOf(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return object{"type": "integer"}
	}
	d.t.Errorf("%v has no schema", t)
	return nil
}

// structure returns the schema of the struct t.
func (d *document) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		is, from := f.Type, f.Type
		if strings.HasPrefix(options, "omit") && is.Kind() == reflect.Pointer {
			from = is.Elem() // absent, never null
		}
		s := d.schemaOf(from)
		if text := d.comments[t.Name()+"."+f.Name]; text != "" {
			if s["$ref"] != nil {
				s = object{"allOf": []object{s}}
			}
			s["description"] = text
		}
		if properties[name] = s; !strings.HasPrefix(options, "omit") {
			required = append(required, name)
		}
	}
	is := object{"type": "object", "properties": properties, "description": d.comments[t.Name()]}
	if slices.Sort(required); len(required) > 0 {
		is["required"] = required
	}
	return is
}

// fieldsOf visits the members of the struct t in JSON, those of its embedded structs too.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && name != "-" && name != "" && !yield(f) {
				return
			}
		}
	}
}

// commentsOf returns the comments of the types in the package at dir, and of their fields.
func commentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			g, ok := n.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				return true
			}
			for _, s := range g.Specs {
				is, _ := s.(*ast.TypeSpec)
				shape, ok := is.Type.(*ast.StructType)
				if !ok {
					continue
				}
				all[is.Name.Name] = first(g.Doc.Text())
				for _, f := range shape.Fields.List {
					for _, name := range f.Names {
						all[is.Name.Name+"."+name.Name] = first(f.Doc.Text() + f.Comment.Text())
					}
				}
			}
			return true
		})
	}
	return all
}

// first returns the first sentence of a comment, as a line.
func first(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at]
	}
	return sentence(strings.TrimSuffix(text, "."))
}

// sentence begins text with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }
