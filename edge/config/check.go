package config

import "fmt"

// check records faults that no single field shows: fields that need or exclude one another.
// Each is looked at even where another failed, so that one run of config check shows all that is to be mended. None
// looks at a field that is bad already.
func (d *decoder) check(c Config) {
	d.checkDoors(c.Listen)
	d.checkToken(c)
	d.checkTLS(c)
	d.checkGossip(c.Gossip)
	d.checkAddresses(c)
}

// checkDoors refuses a daemon nobody can ask.
// The admin listener does not count as one: it shows, and decides nothing for a proxy.
func (d *decoder) checkDoors(l Listen) {
	if at, given := d.given["listen"]; given && len(l.UDP)+len(l.HTTP)+len(l.GRPC)+len(l.SPOP)+len(l.RESP) == 0 {
		at.fault("udp and http are both empty: no client could request a decision")
	}
}

// checkToken requires a token where the admin listener can be reached from elsewhere.
// Whoever reaches that listener can block any client or allow it everything, so that "everybody in this network" is
// never the default.
func (d *decoder) checkToken(c Config) {
	const path = "admin_token_file"
	if c.AdminTokenFile != "" || d.bad[path] {
		return
	}
	for i, a := range c.Listen.Admin {
		if !a.Loopback() && !a.IsZero() {
			at := d.item("listen.admin", i)
			// The fault stands where the address is, as the other field is not in the file, under the name of the
			// field that is missing.
			at.path = path
			at.fault("is required: listen.admin %s is neither loopback nor a unix socket", a)
			return
		}
	}
}

// checkTLS requires both files or neither, and off loopback either TLS or a list of who may come.
// Half a pair would be noticed at the start only, after the old daemon has ended; here a reload and config check
// notice it.
func (d *decoder) checkTLS(c Config) {
	t := c.TLS
	switch at := d.given["tls"]; {
	case d.bad["tls.cert_file"] || d.bad["tls.key_file"]:
		return
	case (t.CertFile == "") != (t.KeyFile == ""):
		at.fault("needs both cert_file and key_file")
		return
	case t.CertFile == "" && t.ClientCAFile != "":
		at.fault("client_ca_file needs cert_file and key_file")
		return
	}
	d.checkTLSClients(&c)
	// Plain gRPC and RESP in a private network are usual, so a list of senders is enough for them; silence is not.
	if _, trusted := d.given["clients.trusted"]; trusted || t.CertFile != "" {
		return
	}
	d.checkPlain("listen.grpc", c.Listen.GRPC)
	d.checkPlain("listen.resp", c.Listen.RESP)
}

// checkTLSClients warns of TLS without certificates of clients, and refuses a listener that would admit no other machine.
func (d *decoder) checkTLSClients(c *Config) {
	t := &c.TLS
	if t.CertFile == "" || t.ClientCAFile != "" || d.bad["tls.client_ca_file"] || d.bad["tls.clients"] {
		return
	}
	at := d.given["tls.cert_file"]
	if t.Clients == AnyClient {
		at.warn("without tls.client_ca_file: everybody may connect over TLS, as tls.clients says")
		return
	}
	at.warn("without tls.client_ca_file: over TLS those are admitted who may connect plain, and over RESP who shows the password; tls.clients: any admits everybody")
	if _, given := d.given["tls.clients"]; given || d.bad["clients.trusted"] || c.Policies.Clients.TrustsOthers() {
		return
	}
	d.checkReached("listen.grpc", c.Listen.GRPC)
	if c.RESP.PasswordFile == "" && !d.bad["resp.password_file"] {
		d.checkReached("listen.resp", c.Listen.RESP)
	}
}

// checkReached refuses an address that other machines reach over TLS, of which none is admitted.
func (d *decoder) checkReached(path string, addresses []Address) {
	for i, a := range addresses {
		if !a.Loopback() && !a.IsZero() {
			d.item(path, i).fault("%s admits no other machine over TLS: it needs tls.client_ca_file, clients.trusted to name who may connect, or tls.clients", a)
			return
		}
	}
}

// checkPlain refuses an address that other machines reach without TLS.
// One fault is enough: what mends it mends the others.
func (d *decoder) checkPlain(path string, addresses []Address) {
	for i, a := range addresses {
		if !a.Loopback() && !a.IsZero() {
			at := d.item(path, i)
			at.fault("%s is neither loopback nor a unix socket: it needs tls.cert_file, or clients.trusted to name who may connect", a)
			return
		}
	}
}

// checkGossip requires an address where there are seeds, and a key off loopback.
// Without a key everybody who can send a datagram to the port is a member, and members can block clients.
func (d *decoder) checkGossip(g Gossip) {
	if d.bad["gossip.bind"] {
		return
	}
	if at := d.given["gossip.join"]; len(g.Join) > 0 && g.Bind.IsZero() {
		at.fault("needs gossip.bind: without an address this node does not gossip")
	}
	if at := d.given["gossip.bind"]; !g.Bind.IsZero() && !g.Bind.Loopback() && g.KeyFile == "" && !d.bad["gossip.key_file"] {
		at.path = "gossip.key_file"
		at.fault("is required: gossip.bind %s is not loopback", g.Bind)
	}
}

// endpoint is one address of one network: tcp, udp or unix.
// One port may serve udp and tcp at the same time, and does for gossip; a unix socket's path is one thing for both.
type endpoint struct {
	network string
	address Address
}

// claim is an endpoint this daemon wants for itself.
type claim struct {
	endpoint
	at value // its place in the file; a default has no node
}

// checkAddresses refuses to want one endpoint twice.
// The system would refuse the second with "address already in use", which does not say which two fields of the file
// want it. Addresses that overlap without being equal, such as :4290 and 127.0.0.1:4290, are left to it.
func (d *decoder) checkAddresses(c Config) {
	taken := map[endpoint]value{}
	for _, one := range d.claims(c) {
		other, twice := taken[one.endpoint]
		switch {
		case one.address.Port == 0 && !one.address.IsUnix(): // none, or whichever is free
		case !twice:
			taken[one.endpoint] = one.at
		case one.at.node != nil:
			one.at.fault("%s is already the address of %s", one.address, other.path)
		default: // the later one is a default, so it is the earlier one that can give way
			other.fault("%s is the address of %s by default", one.address, one.at.path)
		}
	}
}

// claims returns every endpoint c wants, in the order of the documentation.
// The order decides which of two that meet is said to be the first.
func (d *decoder) claims(c Config) []claim {
	claims := d.doors("listen.udp", "udp", c.Listen.UDP)
	claims = append(claims, d.doors("listen.http", "tcp", c.Listen.HTTP)...)
	claims = append(claims, d.doors("listen.admin", "tcp", c.Listen.Admin)...)
	claims = append(claims, d.doors("listen.grpc", "tcp", c.Listen.GRPC)...)
	claims = append(claims, d.doors("listen.spop", "tcp", c.Listen.SPOP)...)
	claims = append(claims, d.doors("listen.resp", "tcp", c.Listen.RESP)...)
	for _, network := range []string{"udp", "tcp"} {
		claims = append(claims, claim{endpoint{network, c.Gossip.Bind}, d.given["gossip.bind"]})
	}
	return claims
}

func (d *decoder) doors(path, network string, addresses []Address) []claim {
	claims := make([]claim, len(addresses))
	for i, a := range addresses {
		claims[i] = claim{endpoint{network, a}, d.item(path, i)}
		if a.IsUnix() {
			claims[i].network = "unix"
		}
	}
	return claims
}

// item returns where item i of the list at path stands: a list of one may be written without its
// brackets, and one that is a default stands nowhere.
func (d *decoder) item(path string, i int) value {
	if v, ok := d.given[fmt.Sprintf("%s[%d]", path, i)]; ok {
		return v
	}
	if v, ok := d.given[path]; ok {
		return v
	}
	return value{d: d, path: path}
}
