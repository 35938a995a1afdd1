package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
)

// fakeSurges answers as a node does that has one finding.
type fakeSurges struct {
	looked, undone int
	asked          api.SurgeApply
}

func (f *fakeSurges) Surge() api.SurgeView {
	return api.SurgeView{State: "attack", Findings: []api.SurgeFinding{{ID: "3fa9c1"}}}
}
func (f *fakeSurges) LookForSurge()                 { f.looked++ }
func (f *fakeSurges) SurgeEvents() []api.SurgeEvent { return nil }
func (f *fakeSurges) UndoSurge(id, _ string) *api.Problem {
	if id != "3fa9c1" {
		return api.NotThere("surge", id)
	}
	f.undone++
	return nil
}

func (f *fakeSurges) ApplySurge(is api.SurgeApply) (v api.SurgeAppliedView, p *api.Problem) {
	f.asked = is
	if is.ID != "3fa9c1" {
		return v, api.NotThere("finding", is.ID)
	}
	return api.SurgeAppliedView{Name: "surge-" + is.ID, Mode: is.Mode}, nil
}

// TestSurge: findings are read, and their policies applied and undone; a body at fault names the
// member and changes nothing; who cannot change anything cannot do this.
func TestSurge(t *testing.T) {
	t.Parallel()
	f := &fakeSurges{}
	a := newNode(t, admin.Options{Local: true, Surges: f})
	if w := a.ask("GET", "/v1/surge", ""); w.Code != 200 || f.looked != 0 ||
		!strings.Contains(w.Body.String(), `"state":"attack"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := a.ask("GET", "/v1/surge?now=1", ""); w.Code != 200 || f.looked != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{
			`{"id":"3fa9c1","mode":"enforce","for":"1h","all":true,"by":"ann"}`, 200,
			`{"name":"surge-3fa9c1","mode":"enforce"`,
		},
		{`{"id":"3fa9c1"}`, 200, `"name":"surge-3fa9c1"`},
		{`{"id":"000000"}`, 404, "there is no finding 000000"},
		{`{"id":"3fa9c1","all":"yes"}`, 400, "must be true or false"},
		{`{"id":"3fa9c1","all":true,"all":true}`, 400, "given twice"},
		{`{"id":"3fa9c1","mod":"enforce"}`, 400, "is not a member"},
		{`{"id":"3fa9c1"} x`, 400, ""},
		{`{"id":"3fa9c1","by":"` + strings.Repeat("x", 65) + `"}`, 400, "64 bytes"},
	} {
		f.asked = api.SurgeApply{}
		w := a.ask("POST", "/v1/surge/apply", c.body)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
		}
		if c.code == 400 && f.asked.ID != "" {
			t.Errorf("%s: asked for %+v", c.body, f.asked)
		}
	}
	a.ask(
		"POST",
		"/v1/surge/apply",
		`{"id":"3fa9c1","mode":"enforce","for":"1h","all":true,"by":"ann"}`,
	)
	if want := (api.SurgeApply{
		ID: "3fa9c1", Mode: "enforce", For: "1h", All: true, By: "ann",
	}); f.asked != want {
		t.Errorf("%+v", f.asked)
	}
	for id, code := range map[string]int{"3fa9c1": 204, "000000": 404} {
		if w := a.ask("DELETE", "/v1/surge/apply?id="+id, ""); w.Code != code {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
	if f.undone != 1 {
		t.Error(f.undone)
	}
	none := newNode(t, admin.Options{Local: true})
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/surge", "", `200 "state":"off"`},
		{"POST", "/v1/surge/apply", `{"id":"3fa9c1"}`, "404 there are no findings"},
		{"DELETE", "/v1/surge/apply?id=3fa9c1", "", "404 there are no findings"},
	} {
		code, text, _ := strings.Cut(c.want, " ")
		w := none.ask(c.method, c.path, c.body)
		if fmt.Sprint(w.Code) != code || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	var v api.SurgeView
	if err := json.Unmarshal(none.ask("GET", "/v1/surge", "").Body.Bytes(), &v); err != nil ||
		v.Findings == nil {
		t.Errorf("%+v, %v", v, err)
	}
}
