package demo

import (
	"context"
	"errors"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/client"
)

// dialDoors connects to the datagram doors of the PoPs. closing closes the connections.
func dialDoors(
	doors []string, attacker string,
) (senders [len(story.PoPs)]sender, closing func() error, err error) {
	var clients []*client.Client
	closing = func() error {
		var errs []error
		for _, c := range clients {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for pop, door := range doors {
		c, err := client.Dial(door, client.WithTimeout(story.Patience))
		if err != nil {
			return senders, nil, errors.Join(err, closing())
		}
		clients = append(clients, c)
		senders[pop] = senderOf(c, attacker)
	}
	return senders, closing, nil
}

// senderOf returns a sender over a client.
func senderOf(c *client.Client, attacker string) sender {
	var queries []client.Query
	return func(b *story.Batch) (attack, normal story.Tally) {
		queries = queries[:0]
		for range b.Attack {
			queries = append(queries, check(attacker))
		}
		for _, key := range b.Normal {
			queries = append(queries, check(string(key)))
		}
		answers, _ := c.Batch(context.Background(), queries) // an error is in the answers too
		return tallyOf(answers[:b.Attack]), tallyOf(answers[b.Attack:])
	}
}

func check(key string) client.Query { return client.Query{Rule: story.Rule, Key: key} }

// tallyOf counts answers.
func tallyOf(answers []client.Answer) (t story.Tally) {
	for _, a := range answers {
		t.Asked++
		switch {
		case a.Err != nil:
			t.Unanswered++
		case a.Allowed():
			t.Admitted++
		default:
			t.Denied++
		}
	}
	return t
}
