# `make` prints the targets. Only Go is needed for build, run and test-go; `make test` installs the rest.
.DEFAULT_GOAL := help
SHELL := bash
RUN_FLAGS ?=

# One static binary without paths of the machine; the suites build it the same way.
GO_BUILD = CGO_ENABLED=0 go build -trimpath

## build: build ./klamm
.PHONY: build
build:
	$(GO_BUILD) -o klamm .

## run: build and start the broker and the explorer (RUN_FLAGS='--open')
.PHONY: run
run: build
	exec ./klamm serve $(RUN_FLAGS)

## test: install what is missing and run every suite, as CI does
.PHONY: test
test: test-deps
	go run ./test/suites

## accept: one line per acceptance check; runs only what has no result of this very tree yet
.PHONY: accept
accept: test-deps
	go run ./test/suites -accept

## test-go: the quick inner loop: Go unit tests
.PHONY: test-go
test-go:
	go test ./internal/... ./test/history ./test/suites .

## test-deps: install what the suites need (Debian packages, npm, Maven, pip)
.PHONY: test-deps
test-deps:
	test/install

## suite-NAME: run one suite of `go run ./test/suites -list`
.PHONY: suite-%
suite-%:
	go run ./test/suites $*

## race: Go unit tests under the race detector
.PHONY: race
race:
	go test -race ./internal/... .

## fuzz: every fuzz target for 30 seconds (FUZZ='-time 5m -only FuzzBatch')
.PHONY: fuzz
fuzz:
	go run ./test/fuzz $(or $(FUZZ),-time 30s)

## crash: kill -9 and power cuts (KLAMM_SEED=n to repeat, KLAMM_KILLS, KLAMM_SEEDS for more)
.PHONY: crash
crash:
	go test -count=1 -v -timeout 60m ./test/crash

## nightly: much more of what is random: 300 kills, 2000 power cuts, 10 minutes per fuzz target
.PHONY: nightly
nightly: test
	KLAMM_KILLS=300 KLAMM_SEEDS=2000 go test -count=1 -v -timeout 6h ./test/crash
	go run ./test/fuzz -time 10m

## lint: gofumpt, go vet, staticcheck; Biome and tsc for the page
.PHONY: lint
lint:
	test/lint
	cd ui && npm run --silent check

## fmt: format the Go sources
.PHONY: fmt
fmt:
	test/lint tools && "$$(ls -d $${XDG_CACHE_HOME:-$$HOME/.cache}/klamm/tools/*gofumpt*/gofumpt | tail -n 1)" -w $$(git ls-files '*.go')

## ui: build the page into ui/dist
.PHONY: ui
ui:
	npm --prefix ui ci --no-audit --no-fund
	npm --prefix ui run build

## cross: build for Linux, macOS and Windows on amd64 and arm64
.PHONY: cross
cross:
	test/cross

## floor: run everything, then raise test/floor.txt to the counts reached
.PHONY: floor
floor: test-deps
	go run ./test/suites -raise

.PHONY: help
help:
	@sed -n 's/^## \([^:]*\): /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-11s %s\n", $$1, $$2 }'
