mod always;
mod changes;
mod flows;
mod heal;
mod queues;
mod scope;
mod stops;
mod world;
