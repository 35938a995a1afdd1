package config

import (
	"slices"
	"time"
)

// fixed is a setting that a daemon takes over at its start only.
// Sockets, memory and the ring are built once: to change one under load would lose counts or
// connections, and a restart keeps both by state_dir and the stop's order.
type fixed struct {
	name string // as the file has it
	keep func(running, next *Config) (differed bool)
}

// fixedSettings are all of them, in the order of the documentation. The others are taken over at
// every reload: rules, and the content of the files named by admin_token_file and gossip.key_file.
// A setting that is forgotten here would look as if it were taken over, and would not be;
// TestKeepKnowsEverySetting compares the two.
var fixedSettings = []fixed{
	{"node", one(func(c *Config) *string { return &c.Node })},
	{"pop", one(func(c *Config) *string { return &c.PoP })},
	{"listen.udp", list(func(c *Config) *[]Address { return &c.Listen.UDP })},
	{"listen.http", list(func(c *Config) *[]Address { return &c.Listen.HTTP })},
	{"listen.admin", list(func(c *Config) *[]Address { return &c.Listen.Admin })},
	{"listen.grpc", list(func(c *Config) *[]Address { return &c.Listen.GRPC })},
	{"listen.spop", list(func(c *Config) *[]Address { return &c.Listen.SPOP })},
	{"listen.resp", list(func(c *Config) *[]Address { return &c.Listen.RESP })},
	{"resp.rule", one(func(c *Config) *string { return &c.RESP.Rule })},
	{"tls.cert_file", one(func(c *Config) *string { return &c.TLS.CertFile })},
	{"tls.key_file", one(func(c *Config) *string { return &c.TLS.KeyFile })},
	{"tls.client_ca_file", one(func(c *Config) *string { return &c.TLS.ClientCAFile })},
	{"tls.clients", one(func(c *Config) *string { return &c.TLS.Clients })},
	{"memory", one(func(c *Config) *int64 { return &c.Memory })},
	{"state_dir", one(func(c *Config) *string { return &c.StateDir })},
	{"ring.servers", list(func(c *Config) *[]Server { return &c.Ring.Servers })},
	{"ring.flush", one(func(c *Config) *time.Duration { return &c.Ring.Flush })},
	{"ring.timeout", one(func(c *Config) *time.Duration { return &c.Ring.Timeout })},
	{"gossip.bind", one(func(c *Config) *Address { return &c.Gossip.Bind })},
	{"gossip.join", list(func(c *Config) *[]Address { return &c.Gossip.Join })},
}

// FixedSettings returns the paths of the settings that a daemon takes over at its start only, in
// the order of the documentation.
func FixedSettings() []string {
	names := make([]string, len(fixedSettings))
	for i, f := range fixedSettings {
		names[i] = f.name
	}
	return names
}

// Keep returns next as a daemon that was started with running can take it over: settings fixed at
// start are running's. waiting names those of them that differ and so wait for a restart, in the
// order of the documentation.
// A reload applies now, and logs and shows waiting: an operator who changed a port is to learn that
// it is still the old one.
func Keep(running, next Config) (now Config, waiting []string) {
	for _, f := range fixedSettings {
		if f.keep(&running, &next) {
			waiting = append(waiting, f.name)
		}
	}
	return next, waiting
}

// one keeps a setting of one value.
func one[T comparable](of func(*Config) *T) func(running, next *Config) bool {
	return func(running, next *Config) bool {
		differed := *of(running) != *of(next)
		*of(next) = *of(running)
		return differed
	}
}

// list keeps a setting that is a list. nil and empty are equal.
// The order counts: of listeners it is that of the greeting, of servers it means nothing but a
// change of it is hardly ever one without another.
func list[T comparable](of func(*Config) *[]T) func(running, next *Config) bool {
	return func(running, next *Config) bool {
		differed := !slices.Equal(*of(running), *of(next))
		*of(next) = *of(running)
		return differed
	}
}
