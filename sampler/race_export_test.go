package sampler

// RaceEnabled is raceEnabled for the external tests.
const RaceEnabled = raceEnabled

// SkipUnderRace is skipUnderRace for the tests of package sampler_test.
var SkipUnderRace = skipUnderRace
