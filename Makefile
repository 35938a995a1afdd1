# Bare `make` explains itself: every target carries its own line of help.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
PKG      ?= ./...
RUN      ?= .
FUZZTIME ?= 30s
COUNT    ?= 6
ARGS     ?=

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help run demo build package image site release package-test setup test race fuzz soak oracle-newest bench cover golden lint fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build and serve with the built-in configuration (ARGS="-c FILE" for yours)
	@exec bin/headgate serve $(ARGS)

demo: build ## three PoPs and an attack on this machine, watched live (ARGS="--plain --duration 60s")
	@exec bin/headgate demo $(ARGS)

build: ## build bin/headgate, one static binary
	@echo 'building bin/headgate … (about a minute the first time)'
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/headgate ./cmd/headgate

package: ## dist/: a .deb and a .rpm (VERSION=1.2.3 ARCH=arm64 to choose)
	@$(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) deploy/package/build dist

image: ## dist/: the container image, for docker load, podman load and skopeo (VERSION=1.2.3 ARCH="amd64 arm64" to choose)
	@$(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) FORMATS=image deploy/package/build dist

site: ## dist/site: docs/ as pages, by mkdocs-material of Debian
	@command -v mkdocs >/dev/null || .ci/setup mkdocs
	mkdocs build --quiet --clean -f deploy/site/mkdocs.yml
	@ls dist/site/index.html

release: ## dist/: everything that a release publishes (VERSION=1.2.3 ARCH="amd64 arm64" OUT=dist)
	@VERSION=$(VERSION) ARCH="$(if $(filter command line environment,$(origin ARCH)),$(ARCH))" OUT="$(OUT)" deploy/release/make

package-test: ## a release made and used; the .deb read by lintian, installed, upgraded and removed in a Debian of its own (root, debootstrap; minutes)
	@.ci/setup debootstrap lintian
	go -C deploy/verify test -tags packages -count=1 -timeout 30m -v -run 'Installed|Released|Lintian' ./...

setup: ## install what the tests start: nginx, haproxy, caddy, memcached, … (Debian only, when missing)
	@.ci/setup

test: setup ## gofmt, vet, every test, and those of goroutines under the race detector; ends with what was skipped
	@.ci/test $(PKG)

race: ## the tests under the race detector only (PKG=./window RUN=Name to narrow)
	go test -race -short -run '$(RUN)' $(PKG)

fuzz: ## run every fuzz target for FUZZTIME=30s (PKG=./edge/wire to narrow)
	@.ci/fuzz $(FUZZTIME) $(PKG)

soak: ## the long tests, behind the build tag soak (minutes to hours; RUN=Name to narrow)
	go test -tags soak -count=1 -timeout 6h -v -run '$(RUN)' $(PKG)
	$(if $(filter ./...,$(PKG)),go -C edge/client/caddy test -tags soak -count=1 -timeout 1h -v -run '$(RUN)' .)
	$(if $(filter ./...,$(PKG)),go -C edge/xds/interop test -tags soak -count=1 -timeout 1h -v -run '$(RUN)' .)
	$(if $(filter ./...,$(PKG)),go -C deploy/verify test -tags soak -count=1 -timeout 1h -v -run InterfaceTools .)
	$(if $(filter ./...,$(PKG)),go -C deploy/gateways test -count=1 -timeout 1h -v -run '$(RUN)' .)

oracle-newest: ## fail if the Go proxy has a newer envoyproxy/ratelimit than the one that edge/config/envoy is held to
	@cd edge/config/envoy/oracle && newer=$$(go list -m -u -f '{{with .Update}}{{.Version}}{{end}}' github.com/envoyproxy/ratelimit) && \
	test -z "$$newer" || { echo "oracle-newest: github.com/envoyproxy/ratelimit is at $$newer" >&2; exit 1; }

bench: ## the rooms' benchmarks, COUNT=6 times for benchstat; whole services: see bench/README.md
	go test -run '^$$' -bench '$(RUN)' -benchmem -count=$(COUNT) $(PKG)
	@echo 'load generators, bare echo servers, rivals and the accuracy run: see bench/README.md'

cover: ## test coverage, as a page at bin/coverage.html
	@mkdir -p bin
	go test -coverprofile=bin/coverage.out -coverpkg=./... $(PKG)
	go tool cover -html=bin/coverage.out -o bin/coverage.html
	@go tool cover -func=bin/coverage.out | tail -1

golden: ## write every golden file again; read the diff before you commit it
	@packages=$$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"|clitest\.CompareGolden' . | xargs -n1 dirname | sort -u); \
	echo "golden files of:" $$packages; \
	go test $$packages -update

lint: ## golangci-lint as .golangci.yml says (builds it the first time: minutes), and a tidy go.mod
	go mod tidy -diff
	@echo 'lint: building golangci-lint where it is not in the build cache; the first time takes minutes'
	@go run $(GOLANGCI) version
	@echo 'lint: checking $(PKG)'
	go run $(GOLANGCI) run $(PKG)
	@echo 'lint: checking bench and deploy/verify'
	cd bench && go mod tidy -diff && go run $(GOLANGCI) run
	cd deploy/verify && go mod tidy -diff && go run $(GOLANGCI) run --build-tags packages

fmt: ## format the code as lint wants it
	go run $(GOLANGCI) fmt $(PKG)

clean: ## remove what was built
	rm -rf bin dist
