package wire

import "testing"

// The codec alone: what a daemon spends on the text of one line.
func BenchmarkLine(b *testing.B) {
	plain := []byte("check per-ip 203.0.113.7")
	full := []byte("check per-ip 2001:db8::7 cost=25 id=0aZ_-9")
	long := []byte("check per-ip 2001:db8:85a3::8a2e:370:7334")
	reply := make([]byte, 0, 128)
	var q Query
	allow := Answer{Remaining: 87, Reset: 10}
	deny := Answer{Status: Deny, Why: WhyShed, Retry: 30, View: ViewPoP, Ratio: 0.83, ID: full[36:]}
	answer := AppendAnswer(nil, &deny)
	for _, bm := range []struct {
		name string
		f    func()
	}{
		{"parse", func() { _ = ParseQuery(&q, plain) }},
		{"parse/long", func() { _ = ParseQuery(&q, long) }},
		{"parse/options", func() { _ = ParseQuery(&q, full) }},
		{"append", func() { reply = AppendAnswer(reply[:0], &allow) }},
		{"append/deny", func() { reply = AppendAnswer(reply[:0], &deny) }},
		{"append/short", func() { reply, _ = AppendAnswerMax(reply[:0], &allow, len(plain)) }},
		{"client/query", func() {
			reply = AppendQuery(reply[:0],
				Query{Rule: plain[6:12], Key: plain[13:], ID: full[36:]})
		}},
		{"client/answer", func() { _, _ = ParseAnswer(answer) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				bm.f()
			}
		})
	}
	b.Run("parse+append", func(b *testing.B) {
		for b.Loop() {
			_ = ParseQuery(&q, plain)
			allow.ID = q.ID
			reply = AppendAnswer(reply[:0], &allow)
		}
	})
}
