package verify

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is the part of a Grafana dashboard that these tests read.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Annotations   struct {
		List []struct{ Name, Expr string }
	}
	Templating struct {
		List []struct {
			Name, Type string
			Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
}

func grafana(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, top+"/deploy/grafana/headgate.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID != "headgate" || d.SchemaVersion < 36 || len(d.Panels) < 20 {
		t.Fatalf("not the dashboard: %s, %d panels", d.UID, len(d.Panels))
	}
	return d
}

// queries returns every query of the dashboard, by where it stands.
func (d dashboard) queries() map[string]string {
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all[p.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, a := range d.Annotations.List {
		all["annotation "+a.Name] = a.Expr
	}
	return all
}

// Each query is for a series that a daemon has, with its labels.
func TestDashboardAsksForWhatIsTold(t *testing.T) {
	told, d := metricsPage(t), grafana(t)
	for where, query := range d.queries() {
		for _, fault := range told.unknownTo(query) {
			t.Errorf("%s: %s", where, fault)
		}
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		found := values.FindStringSubmatch(v.Definition)
		if found == nil {
			t.Errorf("variable %s: %q", v.Name, v.Definition)
			continue
		}
		for _, fault := range told.unknownTo(fmt.Sprintf("sum by (%s) (%s)", found[2], found[1])) {
			t.Errorf("variable %s: %s", v.Name, fault)
		}
	}
}

// Each query is one: promtool reads them as rules, the dashboard's variables filled in.
func TestDashboardQueriesParse(t *testing.T) {
	promtool := program(t, "promtool")
	fill := strings.NewReplacer("$__rate_interval", "5m", "$job", "headgate", "$pop", ".*",
		"$instance", ".*", "$rule", ".*")
	check := func(queries map[string]string) error {
		var rules strings.Builder
		rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
		for _, query := range queries {
			query = fill.Replace(query)
			if strings.Contains(query, "$") {
				t.Errorf("a variable that nobody fills in: %s", query)
			}
			fmt.Fprintf(&rules, "  - {record: \"dashboard:query%d\", expr: %q}\n", rules.Len(),
				query)
		}
		file := filepath.Join(t.TempDir(), "rules.yaml")
		write(t, file, rules.String())
		_, err := command(t, promtool, "check", "rules", file)
		return err
	}
	if err := check(grafana(t).queries()); err != nil {
		t.Error(err)
	}
	if check(map[string]string{"a": "sum(rate(headgate_a[5m])"}) == nil {
		t.Error("a fault is not found")
	}
}

// The panels have titles and units, and do not overlap.
func TestDashboardPanels(t *testing.T) {
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range grafana(t).Panels {
		if was, twice := ids[p.ID]; twice {
			t.Errorf("%s and %s have the id %d", was, p.Title, p.ID)
		}
		ids[p.ID] = p.Title
		if p.Type != "row" && (p.Description == "" || p.FieldConfig.Defaults.Unit == "" ||
			len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("%s is not whole: %+v", p.Title, p)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if was, twice := taken[[2]int{x, y}]; twice || x >= 24 {
					t.Errorf("%s is where %s is", p.Title, was)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}
