//! Flights of sessions that left memory.

use std::collections::VecDeque;

use runwarden_protocol::flight::Flight;
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::run::lineage::Lineage;

/// Sessions that left memory whose flight is kept. Beyond it the one that left first is forgotten.
pub(crate) const FLIGHTS_KEPT_MAX: usize = 64;

/// What the flight recorder had of the sessions that left memory last.
#[derive(Default)]
pub(crate) struct KeptFlights {
    kept: VecDeque<(SessionId, Flight<Lineage>)>,
}

impl KeptFlights {
    /// Keeps a flight in the place of an earlier one of its session.
    pub(crate) fn keep(&mut self, session_id: SessionId, flight: Flight<Lineage>) {
        self.kept.retain(|(of, _)| *of != session_id);
        if self.kept.len() == FLIGHTS_KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((session_id, flight));
    }

    /// The flight of a session.
    pub(crate) fn of(&self, session_id: SessionId) -> Option<Flight<Lineage>> {
        self.kept.iter().find(|(of, _)| *of == session_id).map(|(_, flight)| flight.clone())
    }
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::flight::FlightRecorder;
    use runwarden_protocol::ids::Revision;
    use runwarden_protocol::run::lineage::RunLimits;

    use super::*;

    fn flight(number: u64, revision: u64) -> (SessionId, Flight<Lineage>) {
        let session_id = SessionId::new(number);
        let live = Lineage::new(session_id, Revision::new(revision), RunLimits::default());
        let (machine, recorder) = (format!("run/{session_id}"), FlightRecorder::new(1));
        (session_id, Flight { machine, recorder, live })
    }

    #[test]
    fn the_sessions_that_left_last_are_kept_each_once() {
        let mut flights = KeptFlights::default();
        let keep = |flights: &mut KeptFlights, number, revision| {
            let (session_id, flight) = flight(number, revision);
            flights.keep(session_id, flight);
        };
        let max = FLIGHTS_KEPT_MAX as u64;
        for number in 1..max {
            keep(&mut flights, number, 1);
        }
        keep(&mut flights, 1, 2);
        keep(&mut flights, max, 1);
        assert_eq!(flights.kept.len(), FLIGHTS_KEPT_MAX);
        let again = flights.of(SessionId::new(1)).unwrap();
        assert_eq!(again.live.revision(), Revision::new(2));
        keep(&mut flights, max + 1, 1);
        assert_eq!(flights.kept.len(), FLIGHTS_KEPT_MAX);
        assert!(flights.of(SessionId::new(2)).is_none(), "the first that left is forgotten");
        assert!(flights.of(SessionId::new(1)).is_some());
        assert!(flights.of(SessionId::new(max + 1)).is_some());
    }
}
