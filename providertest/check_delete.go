package providertest

func deleteChecks() []check { return nil }
