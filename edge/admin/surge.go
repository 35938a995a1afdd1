package admin

import (
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
)

// Surges is the part of a node about surges.
type Surges interface {
	Surge() api.SurgeView
	LookForSurge() // at once, beside the looks of every five seconds
	ApplySurge(api.SurgeApply) (api.SurgeAppliedView, *api.Problem)
	UndoSurge(id, by string) *api.Problem
	SurgeEvents() []api.SurgeEvent // since the last call
}

// surge answers GET /v1/surge.
func (a *Door) surge(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	v := api.SurgeView{State: "off", Findings: []api.SurgeFinding{}}
	if s := a.options.Surges; s != nil {
		if query.Get("now") == "1" {
			if p := a.listing(r, s.LookForSurge); p != nil {
				return p
			}
		}
		v = s.Surge()
	}
	return answerJSON(w, http.StatusOK, v)
}

// applySurge puts the policy of a finding in force.
func (a *Door) applySurge(w http.ResponseWriter, r *http.Request) *api.Problem {
	j, p := readJSON(r)
	if p != nil {
		return p
	}
	var is api.SurgeApply
	given := false
	texts := map[string]*string{
		"id": &is.ID, "mode": &is.Mode, "for": &is.For, "by": &is.By,
		"all": nil,
	}
	p = j.Object(func(name []byte) *api.Problem {
		if string(name) == "all" && !given {
			given = true
			return j.Bool("all", &is.All)
		}
		return takeMember(j, name, texts)
	})
	if p == nil && !j.End() {
		p = j.Syntax()
	}
	if p != nil {
		return p
	}
	if is.By, p = claimed(is.By, ""); p != nil {
		return p
	}
	if a.options.Surges == nil {
		return api.NewProblem(http.StatusNotFound, "id", "there are no findings")
	}
	v, p := a.options.Surges.ApplySurge(is)
	if p != nil {
		return p
	}
	a.audit(r, "surge applied", "policy", v.Name, "mode", v.Mode, "until", v.Until, "by", is.By)
	return answerJSON(w, http.StatusOK, v)
}

// undoSurge takes the policy of a finding away.
func (a *Door) undoSurge(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	who, p := claimed(query.Get("by"), "")
	if p != nil {
		return p
	}
	id := query.Get("id")
	if a.options.Surges == nil {
		return api.NewProblem(http.StatusNotFound, "id", "there are no findings")
	}
	if p := a.options.Surges.UndoSurge(id, who); p != nil {
		return p
	}
	a.audit(r, "surge undone", "id", id, "by", who)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// publishSurge sends and logs the events of findings and their policies.
func (w *feed) publishSurge() {
	if w.options.Surges == nil {
		return
	}
	var frames []byte
	for _, e := range w.options.Surges.SurgeEvents() {
		w.id++
		frames = appendFrame(frames, w.id, api.EventSurge, &e)
		if e.Applied == "" {
			w.log.Info("surge", "id", e.ID, "kind", e.Kind, "over", e.Over, "sentence", e.Sentence)
		}
	}
	w.hub.Send(frames)
}
