package override_test

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/mitigation/override"
)

// One node blocks a key; another receives the record twice, and merges it once.
func Example() {
	var ams, lhr override.Set
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	issued, err := ams.Issue(now, override.Override{
		Rule: "login", Key: []byte("203.0.113.7"), Verb: override.Block,
		Until: now + time.Hour.Milliseconds(), Node: "ams-1", Who: "eve",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	record := override.Append(nil, &issued)
	for range 2 {
		received, err := override.Parse(record)
		if err != nil {
			fmt.Println(err)
			return
		}
		news, err := lhr.Merge(now, received)
		fmt.Println(news == override.Newest, err)
	}
	last, held := lhr.Last(now, "login", []byte("203.0.113.7"))
	fmt.Println(held, last.Action(), last.Who)
	// Output:
	// true <nil>
	// false <nil>
	// true block eve
}
