// A score as people read it: a whole number from 0 to 100. Knows nothing about what was scored.

// `share` and `threshold` are from 0 to 1. What falls short is never written as if it had reached the threshold.
export function points(share, threshold = 0) {
  const whole = Math.round(share * 100);
  const bar = Math.round(threshold * 100);
  return share < threshold && whole >= bar ? bar - 1 : whole;
}
