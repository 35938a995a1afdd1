package edge

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/surge"
)

// Surge returns the findings of surges, and the state of the watch.
func (n *Node) Surge() api.SurgeView {
	v := api.SurgeView{
		State: surge.Off, Findings: []api.SurgeFinding{}, Ignored: n.surges.ignored.Load(),
	}
	if n.surges.watch == nil {
		return v
	}
	r := n.surges.watch.Report()
	v.State, v.Since, v.Sampled, v.Lost = r.State, r.Since, r.Sampled, r.Lost
	v.Rate = api.SurgeRateView{Now: r.Now, Usual: r.Usual}
	v.Sample = api.SurgeSampleView{Share: r.Share, Rows: r.Rows}
	v.Learning = api.SurgeLearningView{Rows: r.UsualRows, ReadyIn: r.ReadyIn.Seconds()}
	v.Begun, v.Look = map[string]uint64{}, time.Duration(n.surges.took.Load()).Seconds()
	for kind, times := range r.Begun {
		v.Begun[string(kind)] = times
	}
	n.reloads.mu.Lock()
	inForce := slices.Clone(n.surges.applied)
	n.reloads.mu.Unlock()
	for i := range inForce {
		v.Applied = append(v.Applied, inForce[i].Mode)
	}
	figures := n.room.Figures()
	for i := range r.Findings {
		f := viewFinding(&r.Findings[i])
		for k := range inForce {
			if inForce[k].ID == f.ID {
				f.Applied = viewApplied(&inForce[k], figures)
			}
		}
		v.Findings = append(v.Findings, f)
	}
	return v
}

// LookForSurge looks at once, and takes a look for enough.
func (n *Node) LookForSurge() {
	if n.surges.watch != nil {
		n.surges.watch.LookAgain(int64(n.gate.Now()))
	}
}

func viewFinding(f *surge.Finding) api.SurgeFinding {
	v := api.SurgeFinding{
		ID: f.ID, Kind: string(f.Kind), Begun: f.Begun, Seen: f.Seen, Over: f.Over,
		Conditions: []api.SurgeCondition{}, Signs: append([]string{}, f.Signs...),
		Sentence: f.Sentence(), NoPolicy: f.NoPolicy(),
		Policy:  f.Policy("shadow", wall().Add(anApplied)),
		Excess:  &api.SurgeExcess{Low: f.Low, High: f.High, Rate: f.Rate},
		Clients: &api.SurgeLeast{AtLeast: f.Clients},
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		is := api.SurgeCondition{Field: c.Field}
		if c.Op < surge.Present {
			is.Is = new(c.Value())
		} else {
			is.Present = new(c.Op == surge.Present)
		}
		v.Conditions = append(v.Conditions, is)
	}
	for _, a := range f.Addresses {
		v.Addresses = append(v.Addresses, a.String())
	}
	if f.Kind != surge.Few {
		v.Usual = &api.SurgeUsual{AtMost: f.Usual, Rows: f.UsualRows}
		v.Networks = &api.SurgeLeast{AtLeast: f.Networks}
	}
	return v
}

func viewApplied(a *applied, figures []ask.Figures) *api.SurgeAppliedState {
	v := &api.SurgeAppliedState{Mode: a.Mode, Until: a.Until, By: a.By, All: a.All}
	for i := range figures {
		if f := &figures[i]; f.Name == a.name() {
			if v.Matched, v.Denied = f.Matched, f.Shadow; a.Mode == "enforce" {
				v.Denied = f.Denied.Total()
			}
		}
	}
	return v
}

// eventOf returns the event of a finding.
func eventOf(f *surge.Finding, what string) api.SurgeEvent {
	return api.SurgeEvent{
		ID: f.ID, Kind: string(f.Kind), Begun: f.Begun, Over: f.Over, Sentence: f.Sentence(),
		Applied: what,
	}
}

// SurgeEvents returns the events since the last call.
func (n *Node) SurgeEvents() (events []api.SurgeEvent) {
	if n.surges.watch == nil {
		return nil
	}
	for _, f := range n.surges.watch.Changes() {
		events = append(events, eventOf(&f, ""))
	}
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	events = append(events, n.surges.events...)
	n.surges.events = nil
	return events
}
