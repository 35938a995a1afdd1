package wire_test

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/wire"
)

func ExampleParseQuery() {
	var q wire.Query
	code := wire.ParseQuery(&q, []byte("check login 203.0.113.7 cost=2 id=a1"))
	fmt.Printf("%s %s %s %d %s %v\n", q.Op, q.Rule, q.Key, q.Cost, q.ID, code == wire.NoError)

	code = wire.ParseQuery(&q, []byte("check login 203.0.113.7 cost=0 id=a2"))
	fmt.Printf("%s %s\n", code, q.ID)
	// Output:
	// check login 203.0.113.7 2 a1 true
	// bad-request a2
}

func ExampleAppendAnswerMax() {
	request := "check login 203.0.113.7 id=a1"
	answer := wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Retry: 12, ID: []byte("a1")}
	fmt.Printf("%s\n", wire.AppendAnswer(nil, &answer))
	reply, _ := wire.AppendAnswerMax(nil, &answer, len(request))
	fmt.Printf("%s\n", reply)
	// Output:
	// id=a1 deny why=limit retry=12 view=node remaining=0
	// id=a1 deny why=limit retry=12
}

func ExampleParseAnswer() {
	a, err := wire.ParseAnswer([]byte("deny why=shed retry=3 view=pop ratio=0.83 colour=red"))
	fmt.Println(a.Allowed(), a.Why, a.Retry, a.View, a.Ratio, err)
	// Output: false shed 3 pop 0.83 <nil>
}
