package sketch_test

import (
	"fmt"
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

func Example() {
	// a million requests a window, off by more than 50 for one key in a hundred at most
	const width = 63_000
	s := sketch.New(make([]atomic.Uint64, sketch.Rows*width))
	h := sketch.NewHasher()

	i := h.Index([]byte("203.0.113.7"))
	for number := range uint64(3) { // sub-windows 0, 1, 2
		s.Add(i, number, 10)
	}
	fmt.Println(s.Count(i, 2), "in the window that ends in sub-window 2")
	fmt.Println(s.Count(i, 6), "in the window that ends in sub-window 6")
	// Output:
	// 30 in the window that ends in sub-window 2
	// 20 in the window that ends in sub-window 6
}
