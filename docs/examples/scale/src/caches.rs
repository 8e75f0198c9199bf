//! Reads that a cache in front, or the page cache, answers without the store. Each commit changes the
//! version of the catalogue, and with it the entity tag of every page.

/// Pages that are asked for. The page of rank n is asked for with a probability of 1/n.
const PAGES: usize = 10_000;
/// Simulated reads.
const COUNT: u32 = 100_000;

/// A load on pages.
#[derive(Clone, Copy, Debug)]
pub struct Caches {
    /// Reads a second.
    pub reads: f64,
    /// Commits a second that add an animal, of all instances together.
    pub commits: f64,
    /// Partitions, each with a version of its own. One for the whole catalogue, as it is.
    pub partitions: usize,
}

impl Caches {
    /// The share of reads for which nothing was asked of the store but the version.
    #[must_use]
    pub fn share_of_hits(self) -> f64 {
        let mut random = fastrand::Rng::with_seed(7);
        let sums: Vec<f64> = (1..=PAGES)
            .scan(0.0, |sum, rank| {
                *sum += 1.0 / f64::from(u32::try_from(rank).unwrap_or(u32::MAX));
                Some(*sum)
            })
            .collect();
        let total = sums.last().copied().unwrap_or_default();
        let mut versions = vec![0_u32; self.partitions];
        let mut cached: Vec<Option<u32>> = vec![None; PAGES];
        let (mut hits, mut now, mut next_commit) = (0_u32, 0.0, 0.0);
        for _ in 0..COUNT {
            now += -(1.0 - random.f64()).ln() / self.reads;
            while next_commit <= now {
                versions[random.usize(..self.partitions)] += 1;
                next_commit += -(1.0 - random.f64()).ln() / self.commits;
            }
            let drawn = random.f64() * total;
            let page = sums.partition_point(|sum| *sum < drawn).min(PAGES - 1);
            let version = versions[page % self.partitions];
            hits += u32::from(cached[page].replace(version) == Some(version));
        }
        f64::from(hits) / f64::from(COUNT)
    }
}
