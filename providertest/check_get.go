package providertest

func getChecks() []check { return nil }
