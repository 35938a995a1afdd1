package config_test

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/config"
)

// Everything that is wrong is said at once, with its place and, where one is near, the right word.
func ExampleParse() {
	_, err := config.Parse("headgate.yaml", []byte(`
rules:
  - name: login
    limit: 1e3
    widnow: 1m
    action: blok
`))
	fmt.Println(err)
	// Output:
	// headgate.yaml:4:12: rules[0].limit: must be a whole number in plain digits, not "1e3": write 1000
	// headgate.yaml:5:5: rules[0]: unknown field "widnow" (did you mean "window"?)
	// headgate.yaml:6:13: rules[0].action: must be shed or block, not "blok" (did you mean "block"?)
}

// A file needs only the fields that differ from the built-in configuration.
func ExampleParse_defaults() {
	c, err := config.Parse("headgate.yaml",
		[]byte("listen: {udp: [127.0.0.1:4290, unix:/run/headgate/udp.sock]}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range c.Listen.UDP {
		fmt.Println(a.Packet())
	}
	fmt.Println(c.Listen.HTTP[0].Stream())
	fmt.Println(c.Rules[0].Name, c.Rules[0].Limit, "per", c.Rules[0].Window)
	// Output:
	// udp 127.0.0.1:4290
	// unixgram /run/headgate/udp.sock
	// tcp 127.0.0.1:4291
	// per-ip 100 per 10s
}
