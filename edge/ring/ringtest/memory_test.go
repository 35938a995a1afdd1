package ringtest_test

import (
	"context"
	"fmt"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
)

func ExampleMemory() {
	m := ringtest.NewMemory(2)
	add := func(server int, delta uint64) ring.Op {
		ops := []ring.Op{{Server: server, Delta: delta}}
		m.Do(context.Background(), ops)
		return ops[0]
	}
	add(0, 3)
	fmt.Println(add(0, 4).Total, add(1, 1).Total)
	m.SetDown(0, true)
	fmt.Println(add(0, 1).Err, m.Up(0))
	m.SetDown(0, false)
	m.Distort(func(op *ring.Op) { op.Total *= 100 })
	fmt.Println(add(0, 0).Total)
	m.Distort(nil)
	m.Overwrite(0, 5)
	m.Restart(1)
	fmt.Println(add(0, 0).Total, add(1, 0).Total)
	// Output:
	// 7 1
	// ring: server is down false
	// 700
	// 5 0
}
