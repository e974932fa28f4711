mod flows;
mod scope;
mod stops;
mod world;
