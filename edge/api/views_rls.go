package api

import "time"

// RLSView is the answer of /v1/rls: the domains of the rate limit service.
type RLSView struct {
	Files   []string        `json:"files"` // that rls.files means
	Domains []RLSDomainView `json:"domains"`
	XDS     *XDSView        `json:"xds"` // nil: rls.xds names no server
}

// RLSDomainView is a domain.
type RLSDomainView struct {
	Name        string `json:"name"`
	Descriptors int    `json:"descriptors"`      // with a limit
	Source      string `json:"source,omitempty"` // files or xds
}

// XDSView is the state of the stream of a management server.
type XDSView struct {
	Server    string          `json:"server"`
	NodeID    string          `json:"node_id"`
	Connected bool            `json:"connected"`
	Version   string          `json:"version"` // in force; empty: none
	Error     string          `json:"error"`   // of the last response; empty: it was taken
	Since     time.Time       `json:"since"`   // when Connected changed last
	Updated   *time.Time      `json:"updated"` // when the last response came into force; nil: never
	Domains   []RLSDomainView `json:"domains"`

	Lost        string `json:"-"` // why there is no connection; empty: there is, or it is too early
	ACKs, NACKs uint64 `json:"-"` // responses that were taken, and refused
}
