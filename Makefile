# Targets for people and for .ci/run. docs/testing.md says what each suite is
# and how long it takes. Go is all that `make test` needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

# Tools, pinned here and nowhere else.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Every module of the tree is built, linted and tested; none is named here.
MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*')))

# Words of //go:build lines that are ours: vet and staticcheck run with all of
# them as well as with none.
TAGS = $(shell .ci/tags)

# each runs a command in every module, in the workspace when go.work lists it.
# After a failure it goes on with the other modules, and fails at the end.
each = failed=; for m in $(MODULES); do work=off; if grep -qE "^[[:space:]]*$$m$$" go.work; then work=; fi; \
	echo "-- $(1) ($$m)"; (cd $$m && GOWORK=$$work $(2)) || failed=1; done; test -z "$$failed"

# alone does so outside the workspace, as a program that requires the module sees it.
alone = failed=; for m in $(MODULES); do \
	echo "-- $(1) ($$m)"; (cd $$m && GOWORK=off $(2)) || failed=1; done; test -z "$$failed"

# gotest is go test, which also reports what was skipped; .ci/skips.txt lists
# what may be skipped in CI. See internal/gotest.
GOTEST := $(CURDIR)/bin/gotest -allow $(CURDIR)/.ci/skips.txt

# What the long forms run: rounds of the kill loop, and counts under -race.
ROUNDS := 10
SOAK_ROUNDS := 50
FUZZTIME := 15s

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## build every package of every module
	@$(call each,go build,go build ./...)

.PHONY: bin/gotest
bin/gotest:
	@go build -o bin/gotest ./internal/gotest

.PHONY: test
test: bin/gotest ## the tests that need Go alone, with -race where a C compiler is
	@race=$$(.ci/race); $(call each,go test $$race,$(GOTEST) $$race -timeout 5m ./...)

.PHONY: test-all
test-all: bin/gotest ## test in a random order, several times, with the loops of 10
	@race=$$(.ci/race); export PROXYD_KILL_ROUNDS=$(ROUNDS); \
	$(call each,go test -count=2 -shuffle=on $$race,$(GOTEST) $$race -count=2 -shuffle=on -timeout 15m ./...)

# Parts of the soak. Each has the paths that it covers in .ci/parts, so that
# .ci/run soaks what changed.
.PHONY: test-soak
test-soak: soak-proxyd soak-conformance soak-root soak-fuzz ## the long forms: 50 and 100 rounds, fuzzing, benchmarks

.PHONY: soak-proxyd
soak-proxyd: bin/gotest
	@cd examples && PROXYD_KILL_ROUNDS=$(SOAK_ROUNDS) $(GOTEST) -count=1 -timeout 20m ./proxyd/...

.PHONY: soak-conformance
soak-conformance: bin/gotest
	@race=$$(.ci/race); $(GOTEST) $$race -count=20 -shuffle=on -timeout 15m ./providertest/...
	@race=$$(.ci/race); cd examples && $(GOTEST) $$race -count=3 -shuffle=on -timeout 20m ./customprovider/...

.PHONY: soak-root
soak-root: bin/gotest
	@race=$$(.ci/race); $(GOTEST) $$race -count=20 -shuffle=on -timeout 15m .

.PHONY: soak-fuzz
soak-fuzz: ## every fuzz test for FUZZTIME
	@.ci/fuzz $(FUZZTIME) $(MODULES)

.PHONY: bench
bench: ## the benchmarks of every module
	@$(call each,go test -bench,go test -run '^$$' -bench . -benchmem -timeout 20m ./...)

.PHONY: cover
cover: ## coverage of each package by its own tests
	@$(call each,go test -cover,go test -cover ./...)

.PHONY: lint
lint: lint-format lint-tidy lint-vet lint-systems lint-staticcheck lint-generate lint-vuln ## every check of the source

.PHONY: lint-format
lint-format:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt -w is owed to:"; echo "$$bad"; exit 1; fi
	@bad=$$(grep -rIl $$'\r' --include='*' . --exclude-dir=.git --exclude-dir=bin || true); \
	if [ -n "$$bad" ]; then echo "these have carriage returns:"; echo "$$bad"; exit 1; fi

.PHONY: lint-vet
lint-vet:
	@$(call alone,go vet,go vet ./...)
	@tags="$(TAGS)"; if [ -n "$$tags" ]; then $(call alone,go vet -tags $$tags,go vet -tags "$$tags" ./...); fi

# The examples need flock(2); the library compiles everywhere.
.PHONY: lint-systems
lint-systems:
	@$(call alone,go vet for darwin,env GOOS=darwin CGO_ENABLED=0 go vet ./...)
	@echo "-- go vet for windows (.)"; GOWORK=off GOOS=windows CGO_ENABLED=0 go vet ./...

.PHONY: lint-staticcheck
lint-staticcheck:
	@$(call alone,staticcheck,go run $(STATICCHECK) ./...)
	@tags="$(TAGS)"; if [ -n "$$tags" ]; then $(call alone,staticcheck -tags $$tags,go run $(STATICCHECK) -tags "$$tags" ./...); fi

.PHONY: lint-tidy
lint-tidy:
	@$(call alone,go mod tidy -diff,go mod tidy -diff)

.PHONY: lint-vuln
lint-vuln:
	@$(call alone,govulncheck,$(CURDIR)/.ci/vuln $(GOVULNCHECK))

.PHONY: generate
generate: ## write the generated files again
	@$(call each,go generate,go generate ./...)

.PHONY: lint-generate
lint-generate:
	@list() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null || true; }; \
	before=$$(list); $(MAKE) --no-print-directory generate; \
	if ! diff <(echo "$$before") <(list) >/dev/null; then \
	echo "these generated files were not up to date; they are now:"; \
	diff <(echo "$$before") <(list) | sed -n 's/^> [0-9a-f]*  //p'; exit 1; fi

.PHONY: clean
clean: ## remove what the targets made here
	rm -rf bin
