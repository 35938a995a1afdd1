package config

import (
	"reflect"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/mitigation"
)

// reloaded are the settings that a reload takes over.
var reloaded = []string{
	"admin_token_file", "resp.password_file", "gossip.key_file", "rules",
	"clients", "sets", "pools", "policies", "tickets", "rls",
	"surge.sample", "surge.learn", "surge.min_rate",
}

// Every setting is either taken over at a reload, or kept and named. That Marshal shows every one:
// TestEveryFieldIsShown.
func TestKeepKnowsEverySetting(t *testing.T) {
	text, err := Default().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, v := range content {
		switch name {
		case "listen", "tls", "resp", "ring", "gossip", "surge", "history":
			for below := range v.(map[string]any) {
				all = append(all, name+"."+below)
			}
		default:
			all = append(all, name)
		}
	}
	known := slices.Concat(reloaded, fixedSettings())
	slices.Sort(all)
	slices.Sort(known)
	if !slices.Equal(all, known) {
		t.Errorf("the file has %v\nKeep knows of %v", all, known)
	}
}

// fixedSettings returns the paths of the settings that a daemon takes over at the start only.
func fixedSettings() (all []string) {
	leavesOf(new(Config).fields(), "", func(path string, f *field) {
		if f.fixed {
			all = append(all, path)
		}
	})
	return all
}

// A setting that is fixed at the start stays, and is named when the file has another value.
func TestKeep(t *testing.T) {
	running := Default()
	next := Config{
		Node: "other", PoP: "fra", Listen: Listen{
			UDP:  []Address{{Path: "/u"}},
			HTTP: []Address{{Path: "/h"}}, Admin: []Address{{Path: "/a"}},
			GRPC: []Address{{Path: "/g"}}, SPOP: []Address{{Path: "/s"}},
			RESP: []Address{{Path: "/r"}},
		},
		TLS:     TLS{"/cert", "/key", "/ca", AnyClient},
		Headers: "both", AdminTokenFile: "/token", Memory: 1 << 21, History: 1, StateDir: "/state",
		Ring: Ring{Servers: []Server{{Address{Host: "a", Port: 1}, 1}}, Flush: 1, Timeout: 1},
		Gossip: Gossip{
			Bind: Address{Host: "b", Port: 1},
			Join: []Address{{Host: "c", Port: 1}}, KeyFile: "/key",
		},
		Rules: []mitigation.Rule{{Name: "r"}},
	}
	now, waiting := Keep(running, next)
	if names := fixedSettings(); !slices.Equal(waiting, names) {
		t.Errorf("named %v, want %v", waiting, names)
	}
	want := running
	want.AdminTokenFile, want.Gossip.KeyFile, want.Rules = "/token", "/key", next.Rules
	want.Policies, want.TicketKeep = next.Policies, next.TicketKeep
	want.Surge = next.Surge
	if !reflect.DeepEqual(now, want) {
		t.Errorf("in force %+v\nwant %+v", now, want)
	}
	empty := running
	empty.Ring.Servers = []Server{} // as "servers: []" reads
	if _, waiting = Keep(running, empty); len(waiting) > 0 {
		t.Errorf("nothing differs, and %v is named", waiting)
	}
}
