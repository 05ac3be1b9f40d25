SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# How often a server is killed in the tests that kill one.
SVC_KILLS ?= 10
export SVC_KILLS

# Tests of these packages run with the race detector: the runtime and what it is made of. All others do in the soak.
RACED := svc.dev/svc(/(conversation|internal/(front|outbox)|memory|stream|workflow))?

# What measures how long work takes to stop and to move runs with no other test beside it.
ALONE := svc.dev/svc/internal/outage

# These take longest, so they begin first; with the full counts others do, and under the race detector.
LONGEST := ./service/gateway ./internal/browser ./internal/crash
LONGEST_OF_SOAK := ./internal/crash ./service/backup ./service/audit ./client ./service/gateway ./cmd/svc ./ts ./sqlstore
LONGEST_RACING := ./service/gateway ./cmd/svc ./ts ./sqlstore

# A recipe that names MAKE itself is run by make -n too, which only asks what would be.
AGAIN := $(MAKE) --no-print-directory

.PHONY: help
help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Get the Go modules and a PostgreSQL for the tests.
	@scripts/setup

# What compiles ends before its memory matters: a collector would only cost time.
LEAN := GOGC=off GOMEMLIMIT=3GiB
TOOL := $(LEAN) go
# The same for what go test compiles and links, but not for the tests; no debugger is told about those, which links them in half the time.
LEANLY := -ldflags=-w -toolexec='env $(LEAN)'

.PHONY: run
run: ## Run the service on its embedded database.
	@scripts/web
	@scripts/build
	@exec bin/svc serve

.PHONY: web
web: ## Build the web application, where there is Node.
	@scripts/web

# The pictures of a company's pages, each state in both schemes and widths: make shots SHOTS=/tmp/shots WALK=look-chat
SHOTS ?= $(CURDIR)/bin/shots
WALK ?= look

.PHONY: shots
shots: ## Take pictures of every page and state into bin/shots.
	SVC_SOAK=1 SVC_SHOTS=$(SHOTS) go test ./internal/browser -run 'TestCompanyIsLookedAt/^$(WALK)' -count=1

.PHONY: tour
tour: ## Take the pictures of docs/tour.md again.
	SVC_SOAK=1 SVC_SHOTS=$(CURDIR)/docs/tour go test ./internal/browser -run 'TestCompanyIsLookedAt/^tour$$' -count=1

# What is released, into bin/dist: make dist PLATFORMS=linux/amd64,darwin/arm64. scripts/twice proves that the bytes are the revision's alone.
PLATFORMS ?=

.PHONY: dist
dist: web ## Pack what is released: binaries, what they are made of, checksums.
	@$(TOOL) build -o bin/packer ./internal/dist
	@bin/packer $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: image
image: dist ## Build an image of the released binary, with docker, podman or buildah.
	@scripts/image

.PHONY: site
site: ## Make a static site of docs/ in bin/site.
	@scripts/site

.PHONY: check
check: compile lint ## Build, and look at the code without running it.

.PHONY: format
format:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt -w $$unformatted" >&2; exit 1; }

# Vet compiles everything, and the tests need not look again.
.PHONY: compile
compile: format
	$(TOOL) vet ./...
	$(TOOL) vet -C bench ./...

.PHONY: lint
lint:
	$(TOOL) tool staticcheck ./...
	go mod tidy -diff
	! scripts/changed bench || { cd bench && $(LEAN) $$(go -C .. tool -n staticcheck) ./... && go mod tidy -diff; }

# The race detector does not look into what of SQLite and QuickJS was C: three times as fast. No package with generic code may be left out: it
# would be left out for others too. A process ends without a pause.
export GORACE := atexit_sleep_ms=0
RACE = $$(go list ./... | grep -xE '$(RACED)')
RACING := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libquickjs=-race=false

# These wait for disks, clocks and other processes too, so four run at a time, and of each four of its tests that may: more have more connections than PostgreSQL gives.
PLAIN = $$(go list ./... | grep -vxE '$(RACED)|$(ALONE)')

.PHONY: racing
racing:
	@$(TOOL) build $(RACING) $(RACE)

.PHONY: test
# What costs a processor is done beside the tests that wait.
test: setup web compile ## Run every check and every fast test.
	@go build -o bin/tally ./internal/tally
	@peers=$$(scripts/changed model service/certificate internal/peers && echo '-- -C internal/peers ./...') || echo "internal/peers is not run: model/ and service/certificate are as they were"; \
	bench=$$(scripts/changed bench && echo '-- -C bench -vet=off ./...') || echo "bench is not run: it is as it was"; \
	bin/tally -beside '$(AGAIN) racing' -vet=off $(LEANLY) -timeout 20m $(ALONE) -- \
		-vet=off $(LEANLY) -p 4 -parallel 4 -timeout 20m $(LONGEST) $(PLAIN) -- \
		-beside '$(AGAIN) lint' -vet=off $(LEANLY) -p 4 $(RACING) -timeout 20m $(RACE) $$bench $$peers
	@scripts/changed -tested

# What judges times comes first: it wants a quiet machine, and is the soonest to say that it is not. All of it is run, whatever failed.
# What counts more in the soak does so without the race detector; then every package runs with it once, but for those that are processes.
BY_ITSELF := svc.dev/svc/internal/(flood|outage|browser)
COUNTING = $$(go list $$(grep -rlE --include='*_test.go' --exclude-dir=node_modules --exclude-dir=bench 'SVC_(SOAK|KILLS)' . | xargs -n 1 dirname | sort -u) | grep -vxE '$(BY_ITSELF)')

.PHONY: soak
soak: setup web ## Run the tests with their full counts, for two hours or so.
	@go build -o bin/tally ./internal/tally
	@failed=; \
	SVC_SOAK=1 bin/tally -count=1 -timeout 30m ./internal/flood || failed=1; \
	SVC_SOAK=1 bin/tally -beside '$(AGAIN) racing RACE=./...' -count=1 -timeout 30m $(ALONE) || failed=1; \
	SVC_SOAK=1 bin/tally -count=1 -timeout 90m ./internal/browser || failed=1; \
	SVC_SOAK=1 SVC_KILLS=200 bin/tally -count=1 -p 3 -timeout 60m $(LONGEST_OF_SOAK) $(COUNTING) || failed=1; \
	bin/tally $(RACING) -count=1 -p 4 -timeout 60m $(LONGEST_RACING) $$(go list ./... | grep -vxE '$(BY_ITSELF)|svc.dev/svc(/internal/crash)?') || failed=1; \
	bin/tally -C bench -count=1 ./... || failed=1; \
	bin/tally -C internal/peers -count=1 ./... || failed=1; \
	scripts/fuzz 10s || failed=1; \
	test -z "$$failed"

.PHONY: fuzz
fuzz: ## Run every fuzz test for a minute.
	scripts/fuzz 30s

# It runs at the root, where it builds the product: make bench BENCH='-run peers -quick'
.PHONY: bench
bench: ## Measure, and write bench/RESULTS.md.
	@go build -C bench -o ../bin/bench .
	bin/bench $(BENCH)
