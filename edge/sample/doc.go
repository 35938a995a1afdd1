// Package sample says what policies make of a request somebody writes down: which match and, of the
// others, the first term that does not hold; the client; the questions. Nothing is counted.
//
//	api.TestRequest ─► request.Request ─► policy.Engine: Trace, Evaluate ─► api.TestView
//
// `headgate test-request` uses it on a configuration, and the admin listener on the policies in
// force.
package sample
