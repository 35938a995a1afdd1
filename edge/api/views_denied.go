package api

import "time"

// LevelView is a network holding a key, under a rule of the ladder. The limit is asked together
// with the key's own.
type LevelView struct {
	Rule     string       `json:"rule"` // NAME/24,56
	Key      string       `json:"key"`  // the network
	Verdict  string       `json:"verdict"`
	Why      string       `json:"why,omitempty"`
	Used     Amount       `json:"used"`
	Limit    Amount       `json:"limit"` // of a bucket, its burst
	Siblings SiblingsView `json:"siblings"`
}

// KeyBlastView is about how many clients a key with a mitigation stands for.
type KeyBlastView struct {
	// counted since the key had a mitigation, to within 13 %; 0: none was
	Clients int  `json:"clients"`
	Most    int  `json:"max"`   // that a block may deny
	Sheds   bool `json:"sheds"` // there are more, so a block sheds instead
}

// ShedByView is by which part of a request a drop ratio is drawn, and until when.
type ShedByView struct {
	Part  string    `json:"part"`
	Epoch float64   `json:"epoch"` // seconds for which a draw holds
	Ends  time.Time `json:"ends"`  // of the running epoch
	By    string    `json:"by,omitempty"`
	// the requests with By are, until Ends; none: there is no ratio, or none was asked for
	Denied *bool `json:"denied,omitempty"`
}
