package wire

import "testing"

func BenchmarkLine(b *testing.B) {
	line := []byte("check per-ip 203.0.113.7")
	reply := make([]byte, 0, 128)
	a := Answer{Remaining: 87, Reset: 10}
	b.Run("parse+append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q, code := ParseQuery(line)
			if code != NoError || len(q.Key) == 0 {
				b.Fatal(code)
			}
			a.ID = q.ID
			reply = AppendAnswer(reply[:0], a)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			ParseQuery(line)
		}
	})
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			reply = AppendAnswer(reply[:0], a)
		}
	})
}
