package wire_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

// wholeAnswers are replies that a daemon sends, in full.
var wholeAnswers = []wire.WholeAnswer{
	{
		Answer: wire.Answer{Status: wire.Allow, Remaining: 4, Reset: 60, ID: []byte("7")},
		Rule:   []byte("login"), Ticket: 0x0123456789abcdef,
	},
	{Answer: wire.Answer{Status: wire.Allow, Shadow: true}, Ground: []byte("none")},
	{Answer: wire.Answer{Status: wire.Allow}, Ground: []byte("skip")},
	{Answer: wire.Answer{
		Status: wire.Deny, Why: wire.WhyShed, Retry: 1, Ratio: 0.83,
		View: wire.ViewGlobal,
	}, Rule: []byte("a@b")},
	{Answer: wire.Answer{Status: wire.Deny}, Ground: []byte("policy"), HTTP: 403},
	{Answer: wire.Answer{Status: wire.OK, ID: []byte("x")}, Late: true},
	{
		Answer: wire.Answer{Status: wire.Allow, Remaining: 2}, Rule: []byte("exports"),
		Lease: 3, Full: true,
	},
	{Answer: wire.Answer{Status: wire.Error, Code: wire.BadRequest}},
}

// TestWholeAnswersAreReadBack: what a daemon writes, a client reads.
func TestWholeAnswersAreReadBack(t *testing.T) {
	for _, want := range wholeAnswers {
		line := wire.AppendWhole(nil, &want)
		var got wire.WholeAnswer
		if err := wire.ParseWholeAnswer(&got, line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", line, got, err, want)
		}
	}
}

func FuzzParseWholeAnswer(f *testing.F) {
	for _, a := range wholeAnswers {
		f.Add(wire.AppendWhole(nil, &a))
	}
	f.Add([]byte("allow ticket=1"))
	f.Add([]byte("deny why=policy status=99999999999"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a wire.WholeAnswer
		if err := wire.ParseWholeAnswer(&a, line); err != nil && !errors.Is(err, wire.ErrReply) {
			t.Errorf("%q: %v", line, err)
		}
	})
}
