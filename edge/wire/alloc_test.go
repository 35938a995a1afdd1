package wire

import "testing"

func TestCodecAllocatesNothing(t *testing.T) {
	plain := []byte("check per-ip 203.0.113.7")
	full := []byte("check per-ip a%20b cost=5 id=7 x=y")
	bad := []byte("check per-ip k cost=0 id=7")
	buf := make([]byte, 0, 256)
	allow := Answer{Remaining: 123456, Reset: 10, ID: []byte("7")}
	deny := Answer{Status: Deny, Why: WhyShed, Retry: 30, Ratio: 0.83, ID: []byte("7")}
	reply, q := AppendAnswer(nil, &deny), Query{}
	for name, f := range map[string]func(){
		"ParseQuery plain": func() { _ = ParseQuery(&q, plain) },
		"ParseQuery full":  func() { _ = ParseQuery(&q, append(buf, full...)) },
		"ParseQuery bad":   func() { _ = ParseQuery(&q, bad) },
		"AppendAnswer":     func() { AppendAnswer(AppendAnswer(buf, &allow), &deny) },
		"AppendAnswerMax":  func() { AppendAnswerMax(buf, &deny, 12) },
		"AppendQuery": func() {
			AppendQuery(buf,
				Query{Cost: 5, Rule: plain[:5], Key: full, ID: plain[:5]})
		},
		"ParseAnswer":     func() { _, _ = ParseAnswer(reply) },
		"ParseAnswer bad": func() { _, _ = ParseAnswer(plain) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
