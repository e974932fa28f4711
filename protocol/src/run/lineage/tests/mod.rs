mod always;
mod changes;
mod flows;
mod heal;
mod scope;
mod stops;
mod world;
