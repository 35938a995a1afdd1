package mitigation_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// A key is offered four times its limit: a flag with a ratio of 0.75 sheds three requests of four.
func Example() {
	rule := mitigation.Rule{
		Name: "login", Limit: 100, Window: time.Second,
		Mode: mitigation.Enforce,
	}
	table := mitigation.NewTable(1 << 16)
	now, index := window.Instant(time.Hour), sketch.Index(7)
	table.Put(now, mitigation.Flag{
		Index: index, Rule: rule.Name, Key: []byte("203.0.113.7"), Action: mitigation.Shed,
		Ratio: mitigation.RatioFor(400, 100), Since: now, Until: now.Add(time.Second),
	})

	var dice mitigation.Dice
	denied := 0
	for range 1024 {
		effect := table.Get(now, index)
		_, why := mitigation.ByFlag(effect, dice.Draw(rand.Uint64()))
		if mitigation.Judge(&rule, why).Deny {
			denied++
		}
	}
	fmt.Println(denied)
	// Output: 768
}
