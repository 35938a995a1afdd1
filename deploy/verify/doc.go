// Package verify tests deploy/: each file there is read by the tool that operators use, or by that
// tool's own code, and then compared with the daemon. It is a module of its own, so that the
// dependencies of these tests come with nothing else.
//
//	deploy/kubernetes ──► kustomize ──► Kubernetes' types, strictly ─┐
//	deploy/helm ────────► Helm's engine ► the same, and the base ────┤
//	deploy/compose.yaml ► compose's own loader ──────────────────────┤
//	deploy/prometheus ──► promtool ──────────────────────────────────┼──► edge/config, the built daemon, its /metrics
//	deploy/grafana ─────► promtool, query by query ──────────────────┤
//	deploy/package ─────► nfpm ─► lintian, dpkg, rpm ────────────────┤
//	deploy/verify/image ─► OCI's and Docker's readers, run ──────────┤
//	go.mod, all sources ► go install, from a module proxy ───────────┘
//
// With the build tag packages a .deb is installed, upgraded and removed in a Debian of its own:
// make package-test.
package verify
