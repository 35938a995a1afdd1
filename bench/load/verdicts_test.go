package main

import "testing"

func TestVerdictsOfReplies(t *testing.T) {
	var v Verdicts
	v.addReply([]byte("allow remaining=4 reset=1 view=node\ndeny why=limit retry=9\nid=7 deny " +
		"why=shed\nok\nerror unknown-rule\n"))
	v.addReply([]byte("check per-ip 1.2.3.4\n\nid=1"))
	if want := (Verdicts{Allow: 1, Deny: 2, OK: 1, Echoed: 1, Error: 3}); v != want {
		t.Errorf("counted %+v, want %+v", v, want)
	}
}

func FuzzVerdicts(f *testing.F) {
	f.Add([]byte("allow\ndeny why=limit\n"))
	f.Add([]byte("id=1 allow"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		var v Verdicts
		v.addReply(reply)
		replyID(reply)
		if lines := v.total(); lines > len(reply) {
			t.Errorf("%d lines in %d bytes", lines, len(reply))
		}
	})
}
