# Writes series.txt, the draws, and expected.txt, what the R package posterior
# says of them. Run in this directory: Rscript posterior.R
# The numbers in the repository were made by the versions named in expected.txt.
suppressMessages(library(posterior))
set.seed(20210601)

# Draws are matrices, one column per chain, rounded so that they can be
# committed as text that means the same to every reader.
columns <- function(chains, f) do.call(cbind, lapply(seq_len(chains), f))
ar <- function(n, phi) if (phi == 0) rnorm(n) else as.numeric(arima.sim(list(ar = phi), n))
telegraph <- function(n, flip, p = 0.5) { # a ±1 series that flips rarely
  s <- numeric(n); s[1] <- 1
  for (i in 2:n) s[i] <- if (runif(1) < flip) ifelse(runif(1) < p, 1, -1) else s[i - 1]
  s
}
series <- list(
  ar         = columns(4, function(c) ar(200, 0.7)),
  slow       = columns(4, function(c) ar(250, 0.97)),
  anti       = columns(4, function(c) ar(200, -0.5)),
  capped     = columns(4, function(c) ar(100, -0.95)),
  alternate  = columns(2, function(c) rep(c(-1, 1), 20)),
  spin       = columns(4, function(c) telegraph(200, 0.3, 0.7)),
  rarespin   = columns(4, function(c) telegraph(150, 0.5, 0.97)),
  balanced   = columns(2, function(c) rep(c(1, 1, -1, -1, 1, -1, -1, 1), 10)),
  levels     = columns(4, function(c) round(3 * ar(200, 0.6))),
  shifted    = columns(4, function(c) ar(150, 0.5) + c),
  scaled     = columns(4, function(c) ar(150, 0.3) * 2^c),
  trend      = columns(3, function(c) ar(120, 0.2) + (1:120) / 40),
  heavy      = columns(4, function(c) rcauchy(150)),
  offset     = columns(3, function(c) 1e6 + ar(120, 0.4)),
  odd        = columns(3, function(c) ar(151, 0.6)),
  single     = columns(1, function(c) ar(301, 0.8)),
  onestuck   = cbind(rep(0.5, 100), columns(3, function(c) ar(100, 0.3))),
  allstuck   = columns(4, function(c) rep(c, 40)),
  constant   = columns(4, function(c) rep(3, 40)),
  short      = columns(4, function(c) ar(6, 0)),
  eleven     = columns(2, function(c) ar(11, 0.5)),
  thirteen   = columns(2, function(c) ar(13, 0.5)),
  four       = columns(4, function(c) ar(4, 0)),
  five       = columns(2, function(c) ar(5, 0)))
series <- lapply(series, function(x) unname(round(x, 3)))

out <- file("series.txt", "w")
writeLines("# name chain draws…", out)
for (name in names(series)) for (c in seq_len(ncol(series[[name]])))
  writeLines(paste(name, c - 1, paste(trimws(formatC(series[[name]][, c], format = "g", digits = 15)), collapse = " ")), out)
close(out)

figures <- list(
  rhat = rhat, rhat_basic = rhat_basic,
  rhat_bulk = function(x) posterior:::.rhat(posterior:::z_scale(posterior:::.split_chains(x))),
  ess_bulk = ess_bulk, ess_tail = ess_tail, ess_mean = ess_mean,
  ess_q5 = function(x) ess_quantile(x, 0.05), ess_q95 = function(x) ess_quantile(x, 0.95),
  mcse_mean = mcse_mean,
  mean = function(x) mean(x), sd = function(x) sd(x),
  q5 = function(x) quantile(x, 0.05), q50 = function(x) quantile(x, 0.5), q95 = function(x) quantile(x, 0.95),
  acf1 = function(x) posterior::autocorrelation(x[, 1])[2],
  acf3 = function(x) posterior::autocorrelation(x[, 1])[4])
out <- file("expected.txt", "w")
writeLines(c(paste("#", R.version.string), paste("# posterior", packageVersion("posterior")), "# name figure value"), out)
for (name in names(series)) for (figure in names(figures)) {
  v <- suppressWarnings(as.numeric(figures[[figure]](series[[name]])))
  writeLines(paste(name, figure, trimws(formatC(v, format = "g", digits = 17))), out)
}
close(out)
