package admin

import "github.com/headgate-dev/headgate/edge/api"

// publishModes sends the modes of rules and of policies that changed since the last call, by a
// switch or a reload.
func (w *feed) publishModes() {
	is := map[api.ModeView]string{}
	for _, r := range w.gate.Rules() {
		is[api.ModeView{Rule: r.Name}] = r.Mode.String()
	}
	if e := w.options.engine(); e != nil {
		for i := range e.Len() {
			is[api.ModeView{Policy: e.Policy(i).Name}] = e.Policy(i).Mode.String()
		}
	}
	var frames []byte
	events := 0
	for of, mode := range is {
		// What is new has no mode before: the list shows it.
		if was := w.modes[of]; was == "" || was == mode {
			continue
		}
		if events++; events > maxEvents {
			continue
		}
		w.id++
		of.Mode = mode
		frames = appendFrame(frames, w.id, api.EventMode, of)
	}
	if lost := events - maxEvents; lost > 0 {
		frames = appendFrame(frames, 0, api.EventLost, api.LostView{Events: uint64(lost)})
	}
	w.modes = is
	w.hub.Send(frames)
}
