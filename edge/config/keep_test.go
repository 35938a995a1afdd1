package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/mitigation"
)

// reloaded are the settings that a reload takes over.
var reloaded = []string{"admin_token_file", "resp.password_file", "gossip.key_file", "rules", "clients", "sets", "pools", "policies", "tickets", "rls"}

// Every setting is either taken over at a reload, or kept and named.
func TestKeepKnowsEverySetting(t *testing.T) {
	var all []string
	c := Default()
	for _, f := range c.fields() {
		switch f.name {
		case "listen":
			all = append(all, fieldNames("listen.", c.Listen.fields())...)
		case "tls":
			all = append(all, fieldNames("tls.", c.TLS.fields())...)
		case "resp":
			all = append(all, fieldNames("resp.", c.RESP.fields())...)
		case "ring":
			all = append(all, fieldNames("ring.", c.Ring.fields())...)
		case "gossip":
			all = append(all, fieldNames("gossip.", c.Gossip.fields())...)
		default:
			all = append(all, f.name)
		}
	}
	known := slices.Clone(reloaded)
	for _, f := range fixedSettings {
		known = append(known, f.name)
	}
	slices.Sort(all)
	slices.Sort(known)
	if !slices.Equal(all, known) {
		t.Errorf("the file has %v\nKeep knows of %v", all, known)
	}
}

func fieldNames(prefix string, fields []field) (names []string) {
	for _, f := range fields {
		names = append(names, prefix+f.name)
	}
	return names
}

// A setting that is fixed at the start stays, and is named when the file has another value.
func TestKeep(t *testing.T) {
	running := Default()
	next := Config{
		Node: "other", PoP: "fra", Listen: Listen{UDP: []Address{{Path: "/u"}}, HTTP: []Address{{Path: "/h"}}, Admin: []Address{{Path: "/a"}}, GRPC: []Address{{Path: "/g"}}, SPOP: []Address{{Path: "/s"}}, RESP: []Address{{Path: "/r"}}},
		TLS:            TLS{"/cert", "/key", "/ca"},
		AdminTokenFile: "/token", Memory: 1 << 21, StateDir: "/state",
		Ring:   Ring{Servers: []Server{{Address{Host: "a", Port: 1}, 1}}, Flush: 1, Timeout: 1},
		Gossip: Gossip{Bind: Address{Host: "b", Port: 1}, Join: []Address{{Host: "c", Port: 1}}, KeyFile: "/key"},
		Rules:  []mitigation.Rule{{Name: "r"}},
	}
	now, waiting := Keep(running, next)
	var names []string
	for _, f := range fixedSettings {
		names = append(names, f.name)
	}
	if !slices.Equal(waiting, names) {
		t.Errorf("named %v, want %v", waiting, names)
	}
	want := running
	want.AdminTokenFile, want.Gossip.KeyFile, want.Rules = "/token", "/key", next.Rules
	want.Policies, want.TicketKeep = next.Policies, next.TicketKeep
	if !reflect.DeepEqual(now, want) {
		t.Errorf("in force %+v\nwant %+v", now, want)
	}
	empty := running
	empty.Ring.Servers = []Server{} // as "servers: []" reads
	if _, waiting = Keep(running, empty); len(waiting) > 0 {
		t.Errorf("nothing differs, and %v is named", waiting)
	}
}
