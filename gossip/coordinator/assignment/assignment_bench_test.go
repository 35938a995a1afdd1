package assignment_test

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/gossip/coordinator/assignment"
)

// BenchmarkMembersChange: the assignment of 10,000 nodes in 300 PoPs is made anew, and says for
// 1,000 keys of one PoP who reports and owns them.
func BenchmarkMembersChange(b *testing.B) {
	var list []assignment.Member
	for n := range 10_000 {
		pop := fmt.Sprintf("pop-%03d", n%300)
		list = append(list, assignment.Member{
			Name: fmt.Sprintf("%s/edge-%d", pop, n/300),
			PoP:  pop,
		})
	}
	for _, keys := range []int{0, 1000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			for b.Loop() {
				table := assignment.New([]byte("secret"), list)
				for k := range keys {
					table.Reporters("pop-007", k*4%assignment.Shards)
					table.ShardOwners(k * 4 % assignment.Shards)
				}
			}
		})
	}
}
